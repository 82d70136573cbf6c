// SPDX-License-Identifier: Apache-2.0
// The timelines of a run's processes, put into its report.
#pragma once

#include <string>
#include <vector>

#include "tools/report/process_report.h"

namespace cuvmm::tools {

/// Reads what the processes left in `folder`, and adds it to `report` as "timeline", with the
/// stacks that their own reports have. What is missing goes to the report's notes, and comes back.
std::vector<std::string> add_timelines(Json& report, const std::string& folder,
                                       const std::vector<ProcessReport>& processes);

}  // namespace cuvmm::tools
