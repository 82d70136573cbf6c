// SPDX-License-Identifier: Apache-2.0
// `cuvmm fail --each`.
#pragma once

#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// Runs the whole campaign. Returns the exit code of the command.
int run_campaign(const CampaignSettings& settings);

}  // namespace cuvmm::tools
