// SPDX-License-Identifier: Apache-2.0
// Starts a program, and waits for it and for every process that it leaves behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/report/tree/process_end.h"

namespace cuvmm::tools {

struct TreeOptions {
  double wait_s = -1;  ///< seconds to wait for processes that outlive the program; < 0: no limit
  bool quiet = false;  ///< say nothing on stderr while waiting
  /// run_tree() leaves SIGINT, SIGTERM and SIGHUP blocked when it returns, so that none of them
  /// ends the caller before it has written the report.
  bool hold_signals = false;
  std::function<void()> look = {};  ///< called some twenty times a second while processes run
};

struct TreeResult {
  std::string error;     ///< the program could not be started: the kernel's reason; else empty
  int error_number = 0;  ///< errno of it
  pid_t pid = 0;         ///< of the program
  int exit_code = 0;     ///< the program's own, or 128 + the signal that ended it
  int signal = 0;        ///< the signal that ended the program; 0: none
  std::map<pid_t, int> signals;  ///< by pid: the signal that ended the program or an orphan of the
                                 ///< tree; other processes report only to their own parents
  ProcessEnd end;                ///< of the program
  bool left_running = false;     ///< some processes had not ended when waiting stopped
};

/// Runs `command` (its first element is the path to execute) in environment `environment`
/// ("NAME=VALUE" each) and waits for its tree. The calling process becomes the subreaper of its
/// descendants. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 that another process sends to
/// this one go to the program; those that a terminal sends reach the program by themselves.
TreeResult run_tree(const std::string& path, const std::vector<std::string>& command,
                    const std::vector<std::string>& environment, const TreeOptions& options);

}  // namespace cuvmm::tools
