// SPDX-License-Identifier: Apache-2.0
// Adds the timelines of a run's processes to its report.
#pragma once

#include <string>
#include <vector>

#include "tools/report/process_report.h"

namespace cuvmm::tools {

/// Reads the files that the processes left in `folder`, and adds them to `report` as "timeline",
/// with the stacks from the processes' reports. Returns a note for each missing part, and adds the
/// notes to the report.
std::vector<std::string> add_timelines(Json& report, const std::string& folder,
                                       const std::vector<ProcessReport>& processes);

}  // namespace cuvmm::tools
