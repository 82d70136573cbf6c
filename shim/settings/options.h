// SPDX-License-Identifier: Apache-2.0
// The settings of the shim from the environment. `cuvmm run` sets these variables.
#pragma once

#include <cstdint>
#include <string>

#include "shim/output/terminal/terminal.h"
#include "shim/settings/async_mode.h"
#include "shim/settings/guard_options.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

enum class LeakCheck { kNo, kSummary, kFull };

struct Options {
  std::string driver;         ///< CUVMM_DRIVER: libcuda to open; empty: the loader's search order
  std::string report;         ///< CUVMM_REPORT: JSON file written at exit, %p already replaced
  std::string report_dir;     ///< CUVMM_REPORT_DIR: folder for one JSON file per process
  std::string suppressions;   ///< CUVMM_SUPPRESSIONS
  std::string trace;          ///< CUVMM_TRACE: program text, %p already replaced
  std::string trace_calls;    ///< CUVMM_TRACE_CALLS: globs, separated by commas, for traces in
                              ///< lines of JSON
  bool trace_errors = false;  ///< CUVMM_TRACE_ERRORS=1: only calls that did not succeed
  /// CUVMM_LIVE: folder for a file that shows the objects which the process holds, while it runs;
  /// empty or "off": no file.
  std::string live;
  /// CUVMM_RUN: a `cuvmm run` judges the objects in that file after the process has ended
  bool judged = false;
  /// CUVMM_TIMELINE: folder for a file with the changes of the process's memory and their times
  std::string timeline;
  /// CUVMM_RING: folder for a file of each process's last calls; empty or "off": no file, because
  /// each call would pay for a file that no command reads
  std::string ring;
  std::string fail;              ///< CUVMM_FAIL: the calls that cuvmm makes fail
  std::string fail_log;          ///< CUVMM_FAIL_LOG: folder for logs of the calls that can fail
  GuardOptions guards;           ///< CUVMM_GUARD=1, CUVMM_QUARANTINE=N, CUVMM_POISON=1
  bool check_kernels = false;    ///< CUVMM_KERNELS=check: the emulator has findings about kernels
  bool keep_last_calls = false;  ///< CUVMM_RING_KEEP=1: the file stays, however the process ends
  /// CUVMM_FAULT_ADDRESS: the address of the device's fault, from the kernel's log; 0 unknown
  std::uint64_t fault_address = 0;
  std::string scope;         ///< CUVMM_SCOPE: the scope in which the process was started, for
                             ///< example a test
  std::string nvtx_include;  ///< CUVMM_NVTX_INCLUDE: globs, separated by commas: only in these
                             ///< ranges
  int leaks_signal = 0;      ///< CUVMM_LEAKS_SIGNAL: the signal at which leaks are reported; 0:
                             ///< none
  LeakCheck leak_check = LeakCheck::kSummary;  ///< CUVMM_LEAK_CHECK
  bool enforce = false;                        ///< CUVMM_ENFORCE=1
  bool allow_multicast = false;                ///< CUVMM_ALLOW_MULTICAST=1
  bool quiet = false;                          ///< CUVMM_QUIET=1: no text on stderr
  bool verbose = false;                        ///< CUVMM_VERBOSE=1: answers and quiet advice too
  bool no_summary = false;                     ///< CUVMM_NO_SUMMARY=1: no totals at exit
  bool no_symbols = false;                 ///< CUVMM_NO_SYMBOLS=1: stacks as modules and offsets
  ColorChoice color = ColorChoice::kAuto;  ///< CUVMM_COLOR
  int limit = -1;  ///< CUVMM_LIMIT: findings printed of a rule, 0: all; -1: depends on whether
                   ///< stderr is a terminal
  bool no_python_frames = false;  ///< CUVMM_NO_PYTHON_FRAMES=1: stacks have no Python part
  int stack_depth = kMaxFrames;   ///< CUVMM_STACK_DEPTH: frames stored of a stack; 1: only the call
                                  ///< site
  AsyncMode async = AsyncMode::kObserved;  ///< CUVMM_ASYNC: how work in flight is followed
  bool unordered = false;   ///< CUVMM_UNORDERED=1: work that happened to be over has a finding as
                            ///< well
  int error_exit_code = 0;  ///< CUVMM_ERROR_EXITCODE, 0 leaves the code alone
  std::string complaint;    ///< the first value that was not understood, in one sentence; empty if
                            ///< there is none
};

/// Reads the CUVMM_* variables. A value that is not understood is ignored, and `complaint` names
/// it. A program that runs with more rights than its user, such as a set-user-ID one, gets the
/// defaults, because the user sets the variables. `%p` in file names becomes `pid`, and paths
/// become absolute.
Options read_options(int pid);

/// The folder in which the program was started: relative paths in the variables mean this folder,
/// even if the program has changed its folder meanwhile. The first call stores it, so a constructor
/// makes that call.
const std::string& start_folder();

/// `pattern` with every %p replaced by `pid`.
std::string with_pid(const std::string& pattern, int pid);

}  // namespace cuvmm::shim
