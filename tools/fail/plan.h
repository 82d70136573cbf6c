// SPDX-License-Identifier: Apache-2.0
// The plan of a campaign: the list of its runs.
#pragma once

#include "tools/fail/outcome.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// The places from which the plain runs called functions, sorted by function and place. `patterns`:
/// patterns of function names; empty: all functions that can fail in a correct program.
std::vector<CallSite> call_sites(const std::vector<Outcome>& plain,
                                 const std::vector<std::string>& patterns);

/// Two runs for each place (`all`: for each call of a place): in one the call fails once, in the
/// other it fails from then on.
std::vector<Experiment> plan(const std::vector<CallSite>& sites, bool all);

/// The experiment as a value of --fail.
std::string spec_of(const CallSite& site, const Experiment& experiment);

}  // namespace cuvmm::tools
