// SPDX-License-Identifier: Apache-2.0
// What is new in a report, against an older one.
#pragma once

#include <cstddef>

#include "tools/base/json.h"

namespace cuvmm::tools {

struct Against {
  std::size_t fresh = 0;      ///< findings that the older report has not
  std::size_t unchanged = 0;  ///< those that it has
  std::size_t absent = 0;     ///< findings of the older one that are gone
};

/// Gives each finding of `report` a member "baseline": "new" or "unchanged". They are told apart by
/// their fingerprints: a line that moved does not make a finding new. Those of the older report
/// that are gone become the member "absent" of `report`, one of each fingerprint.
Against mark_against(Json& report, const Json& older);

}  // namespace cuvmm::tools
