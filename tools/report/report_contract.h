// SPDX-License-Identifier: Apache-2.0
// Checks the report of a process against the contract in docs/report.md.
#pragma once

#include <string>
#include <vector>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// The writer of a report: a process, or `cuvmm run`, whose reports have more members.
enum class ReportOf { kProcess, kRun };

/// Removes from `report`, an object, every member that is not as documented, so that all remaining
/// members have the documented types. Returns a clause for each removal, with the expected type. If
/// there are many, returns the first few and then their number.
std::vector<std::string> enforce_contract(Json& report, ReportOf of = ReportOf::kProcess);

}  // namespace cuvmm::tools
