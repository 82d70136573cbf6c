// SPDX-License-Identifier: Apache-2.0
// The findings of a report by rule and place, as a table for the end of the summary.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// A line for each pair of rule and place, the most frequent first, for findings that count as
/// errors. "" for fewer than two lines, because the finding itself was printed already. `findings`:
/// that member of a merged report. Control characters in it are shown as '?'.
std::string findings_table(const Json& findings);

}  // namespace cuvmm::tools
