// SPDX-License-Identifier: Apache-2.0
// Runs of one program side by side, each under a time limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/fail/outcome.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

class ForkServer;

/// Makes one run for each job, at most `at_once` at a time, and hands each outcome to `done` with
/// the index of its job, in the order in which the runs end. With a `server`, each run is a child
/// of the server, and only the failing calls of a job count. A run that takes longer than
/// `timeout_s` seconds is ended with all its processes. The program's stdin is empty, and its
/// output goes into files. Two calls must not run at the same time.
void run_jobs(const std::vector<Job>& jobs, int at_once, double timeout_s,
              const std::function<void(std::size_t, Outcome)>& done, ForkServer* server = nullptr);

}  // namespace cuvmm::tools
