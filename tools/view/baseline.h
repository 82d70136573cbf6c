// SPDX-License-Identifier: Apache-2.0
// Compares a report with an older one, and marks the new findings.
#pragma once

#include <cstddef>

#include "tools/base/json.h"

namespace cuvmm::tools {

struct Against {
  std::size_t fresh = 0;      ///< findings that the older report lacks
  std::size_t unchanged = 0;  ///< findings that both reports have
  std::size_t absent = 0;     ///< findings that only the older report has
};

/// Gives each finding of `report` a member "baseline": "new" or "unchanged". Findings are compared
/// by their fingerprints, so a finding whose line moved is not new. The findings that only `older`
/// has become the member "absent" of `report`, one for each fingerprint.
Against mark_against(Json& report, const Json& older);

}  // namespace cuvmm::tools
