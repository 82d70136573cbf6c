// SPDX-License-Identifier: Apache-2.0
// The result of a campaign as text for people, as JSON (docs/testing/fail.md is the contract) and
// as JUnit XML.
#pragma once

#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// The command line `cuvmm run ... --fail 'SPEC' -- program`, quoted for a shell.
std::string run_line(const RunSettings& settings, const std::string& spec);

struct Results {
  std::vector<CallSite> sites;
  std::vector<Trial> trials;  ///< in the order of the plan
  double plain_seconds = 0;
  bool output_compared = false;               ///< all plain runs printed the same text
  std::vector<std::string> plain_findings{};  ///< of the plain runs, so no failure caused them
};

/// The trial of a place with the worst verdict; null if the place has no trial.
const Trial* worst_trial(const Results& results, std::size_t site);

std::string campaign_text(const CampaignSettings& settings, const Results& results);
Json campaign_json(const CampaignSettings& settings, const Results& results);
std::string campaign_junit(const CampaignSettings& settings, const Results& results);

}  // namespace cuvmm::tools
