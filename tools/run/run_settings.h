// SPDX-License-Identifier: Apache-2.0
// The values of the options of `cuvmm run`.
#pragma once

#include <string>
#include <vector>

namespace cuvmm::tools {

struct RunSettings {
  bool emulate = false;
  std::string profile;  ///< name or absolute path; "" for the emulator's default
  int devices = 0;      ///< number of emulated devices; 0: the default
  std::string streams;  ///< "eager", "late" or "late:SEED"; "" for the emulator's default
  std::string kernels;  ///< "run", "skip", "check" or "check:LIST"; "" for the emulator's default
  std::string hostile;  ///< for CUVMM_HOSTILE; "" for no hostile kinds
  std::string outage;   ///< the trouble of a fabric that `cuvmm rack` has the emulator play
  std::string driver;   ///< absolute path of the libcuda to use; "" for the loader's choice
  std::vector<std::string> reports;
  int error_exitcode = 0;          ///< exit code if there are findings; 0: the program's
  std::vector<std::string> blame;  ///< code owners whose findings set error_exitcode; empty: all
  int skipped_exitcode = -1;       ///< exit code if the emulator skipped launches; < 0: not given
  bool allow_unchecked = false;    ///< a run of which a part was not checked is a success
  bool python = false;  ///< lead Python's cuda.bindings.runtime to the emulator's libcudart
  std::string torch;    ///< "compute", "skip" or "" for the default, compute: PyTorch's operators
  bool enforce = false;
  std::string suppressions;  ///< absolute path
  std::string leak_check;    ///< "summary", "full", "no" or "" for the shim's default
  std::string async;         ///< "off", "observed", "exact" or "" for the shim's default
  bool unordered = false;    ///< unordered uses are found even if the work had ended
  std::string trace;         ///< absolute path, may hold %p
  std::vector<std::string> trace_calls;  ///< globs: the trace has only these functions
  bool trace_errors = false;             ///< the trace has only calls that failed
  std::string ring;                      ///< absolute folder for every process's last calls
  bool timeline = false;                 ///< the report says when memory was made and ended
  std::string live;  ///< absolute folder for the processes' live files; or "off"
  std::vector<std::string> nvtx_include;  ///< globs: only findings in these ranges
  bool no_nvtx = false;                   ///< the shim reads no ranges and names of NVTX
  std::string leaks_signal;       ///< the signal at which a process prints its leaks; "": none
  bool no_python_frames = false;  ///< stacks have only native frames
  int stack_depth = 0;            ///< the most frames of a stack; 0: the default
  bool no_symbols = false;        ///< stacks are modules and offsets
  bool debuginfod = false;        ///< debug information may come from servers
  std::string color;              ///< "auto", "always", "never" or "" for the shim's default
  int limit = -1;                 ///< the most findings printed of a rule; 0: all; < 0: the default
  std::vector<std::string> fails;  ///< the values of --fail
  std::string fail;                ///< all of `fails`, joined: the calls that cuvmm makes fail
  std::string fail_log;            ///< absolute folder; each process logs its fallible calls there
  bool guard = false;              ///< an unmapped granule on both sides of each reservation
  int quarantine = 0;              ///< freed ranges that are not reserved again; 0: none
  bool poison = false;             ///< new memory holds a pattern
  /// Absolute; gets a line "PID SIGNAL" for each process that a signal ended.
  std::string tree_file;
  bool quiet = false;
  bool verbose = false;  ///< prints the driver's answers and quiet advice, too
  bool allow_multicast = false;
  double wait = -1;  ///< seconds to wait for processes that outlive the program; < 0: no limit
  std::vector<std::string> command;
};

}  // namespace cuvmm::tools
