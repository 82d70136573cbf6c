// SPDX-License-Identifier: Apache-2.0
// One run of a campaign: starts it, and reads the files that it leaves in its folder.
#pragma once

#include <sys/types.h>

#include <string>

#include "tools/fail/outcome.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// Makes the calling process, a child of fork(), the run. Never returns.
[[noreturn]] void be_the_run(Job job, const std::string& folder);

/// The end of a run. `timed_out`: the campaign ended it.
struct RunEnd {
  int status = 0;  ///< the status that waitpid() gave
  double seconds = 0;
  bool timed_out = false;
};

/// Reads the files that be_the_run() left in `folder`.
Outcome collect_run(const std::string& folder, const RunEnd& end);
/// Reads the files that process `pid` of a fork server left in `folder`.
Outcome collect_forked(const std::string& folder, pid_t pid, const RunEnd& end);

/// Kills a process and its descendants, whichever process groups they are in.
void kill_tree(pid_t pid);

}  // namespace cuvmm::tools
