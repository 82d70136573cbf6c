// SPDX-License-Identifier: Apache-2.0
// What a campaign shows: for people, as JSON (the contract is in docs/testing/fail.md) and as JUnit
// XML.
#pragma once

#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// `cuvmm run ... --fail 'SPEC' -- program`, to be typed.
std::string run_line(const RunSettings& settings, const std::string& spec);

struct Results {
  std::vector<CallSite> sites;
  std::vector<Trial> trials;  ///< in the order of the plan
  double plain_seconds = 0;
  bool output_compared = false;               ///< the plain runs all printed the same
  std::vector<std::string> plain_findings{};  ///< of the plain runs: no failure's doing
};

/// The worst of a place's trials; null if there is none.
const Trial* worst_trial(const Results& results, std::size_t site);

std::string campaign_text(const CampaignSettings& settings, const Results& results);
Json campaign_json(const CampaignSettings& settings, const Results& results);
std::string campaign_junit(const CampaignSettings& settings, const Results& results);

}  // namespace cuvmm::tools
