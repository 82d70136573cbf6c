// SPDX-License-Identifier: Apache-2.0
// One run of a campaign: how it is made, and what it leaves in its folder.
#pragma once

#include <sys/types.h>

#include <string>

#include "tools/fail/outcome.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// In a child of fork: never returns.
[[noreturn]] void be_the_run(Job job, const std::string& folder);

/// How a run ended that was given up, or not.
struct RunEnd {
  int status = 0;  ///< as of waitpid()
  double seconds = 0;
  bool timed_out = false;
};

/// What be_the_run() left in the folder.
Outcome collect_run(const std::string& folder, const RunEnd& end);
/// What process `pid` of a fork server left there.
Outcome collect_forked(const std::string& folder, pid_t pid, const RunEnd& end);

/// Ends a process and its descendants, whatever groups they have made.
void kill_tree(pid_t pid);

}  // namespace cuvmm::tools
