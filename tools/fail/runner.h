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

/// Makes the runs, at most `at_once` of them at a time, and hands each outcome to `done` with the
/// number of its job, in the order in which they end. With a `server`, each run is a child of it:
/// of the jobs only the calls that fail count. A run that takes longer than `timeout_s` is ended,
/// with all its processes. The program reads nothing from stdin, and what it prints is kept from
/// the terminal. Called once at a time.
void run_jobs(const std::vector<Job>& jobs, int at_once, double timeout_s,
              const std::function<void(std::size_t, Outcome)>& done, ForkServer* server = nullptr);

}  // namespace cuvmm::tools
