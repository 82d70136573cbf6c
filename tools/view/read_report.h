// SPDX-License-Identifier: Apache-2.0
// Reads a report that the user names.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// The report in this file. Members that are not as docs/report.md says are removed, and named on
/// stderr. Throws UsageError if the file is no report.
Json read_report(const std::string& path);

}  // namespace cuvmm::tools
