// SPDX-License-Identifier: Apache-2.0
// A report that a user names.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// The report in this file, as docs/report.md says: what is otherwise is taken out, and named on
/// stderr. Throws UsageError where it is no report.
Json read_report(const std::string& path);

}  // namespace cuvmm::tools
