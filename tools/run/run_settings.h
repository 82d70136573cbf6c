// SPDX-License-Identifier: Apache-2.0
// What the command line of `cuvmm run` asks for.
#pragma once

#include <string>
#include <vector>

namespace cuvmm::tools {

struct RunSettings {
  bool emulate = false;
  std::string profile;  ///< name or absolute path; "" for the emulator's default
  int devices = 0;      ///< of the emulator; 0: its default
  std::string streams;  ///< "eager", "late" or "late:SEED"; "" for the emulator's default
  std::string hostile;  ///< for CUVMM_HOSTILE; "" for no hostile luck
  std::string driver;   ///< absolute path of the libcuda to use; "" for the loader's choice
  std::vector<std::string> reports;
  int error_exitcode = 0;          ///< 0: the program's exit code is kept
  std::vector<std::string> blame;  ///< whose findings count for it; empty: all do
  int skipped_exitcode = -1;     ///< the same, of launches that the emulator skipped; < 0: not said
  bool allow_unchecked = false;  ///< a run that checked nothing, or not all, is a success
  bool python = false;  ///< lead Python's cuda.bindings.runtime to the emulator's libcudart
  bool enforce = false;
  std::string suppressions;  ///< absolute path
  std::string leak_check;    ///< "summary", "full", "no" or "" for the shim's default
  std::string async;         ///< "off", "observed", "exact" or "" for the shim's default
  bool unordered = false;    ///< work that happened to be over is found as well
  std::string trace;         ///< absolute path, may hold %p
  std::vector<std::string> trace_calls;  ///< globs: of these functions alone
  bool trace_errors = false;             ///< of calls that did not succeed alone
  std::string ring;                      ///< absolute folder for every process's last calls
  bool timeline = false;                 ///< what happens to memory is kept with its time
  std::string live;  ///< absolute folder where processes show what they hold; or "off"
  std::vector<std::string> nvtx_include;  ///< globs: only findings in these ranges
  bool no_nvtx = false;                   ///< ranges and names of NVTX are not looked at
  std::string leaks_signal;               ///< at which a process tells its leaks; "" for none
  bool no_python_frames = false;          ///< stacks are native alone
  int stack_depth = 0;                    ///< frames that are kept of a stack; 0: the default
  bool no_symbols = false;                ///< stacks are modules and offsets
  bool debuginfod = false;                ///< debug information may come from servers
  std::string color;  ///< "auto", "always", "never" or "" for the shim's default
  int limit = -1;     ///< findings that are printed of a rule, 0: all; < 0: the default
  std::vector<std::string> fails;  ///< as they were given
  std::string fail;                ///< which calls are made to fail; "" for none
  std::string fail_log;            ///< absolute folder for what is seen of calls that can fail
  bool guard = false;              ///< an unmapped granule on both sides of each reservation
  int quarantine = 0;              ///< freed ranges that are not reserved again; 0: none
  bool poison = false;             ///< new memory holds a pattern
  std::string tree_file;  ///< absolute; gets a line "PID SIGNAL" for each process ended by one
  bool quiet = false;
  bool verbose = false;  ///< answers and quiet advice, too
  bool allow_multicast = false;
  double wait = -1;  ///< seconds to wait for processes that outlive the program; < 0: no limit
  std::vector<std::string> command;
};

}  // namespace cuvmm::tools
