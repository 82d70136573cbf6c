// SPDX-License-Identifier: Apache-2.0
// The findings of a report by rule and place, as a table for the last lines.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// A line for each rule and place that made it, those with most occurrences first, for what counts
/// as an error. "" where there are fewer than two: what was printed already says it. `findings` is
/// the member of a merged report; control characters in it are shown as '?'.
std::string findings_table(const Json& findings);

}  // namespace cuvmm::tools
