// SPDX-License-Identifier: Apache-2.0
// Which runs a campaign makes.
#pragma once

#include "tools/fail/outcome.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// The places that the plain runs came by, in the order of their functions and places. `patterns`:
/// of which functions; empty for all that can fail in a correct program.
std::vector<CallSite> call_sites(const std::vector<Outcome>& plain,
                                 const std::vector<std::string>& patterns);

/// For each place, or each call of it: that it fails once, and that it fails from then on.
std::vector<Experiment> plan(const std::vector<CallSite>& sites, bool all);

/// The text for --fail.
std::string spec_of(const CallSite& site, const Experiment& experiment);

}  // namespace cuvmm::tools
