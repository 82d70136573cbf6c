// SPDX-License-Identifier: Apache-2.0
// Checks the report of a process against the contract in docs/report.md.
#pragma once

#include <string>
#include <vector>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// Who wrote a report: a process, or the runner, which has more to say.
enum class ReportOf { kProcess, kRun };

/// Takes what is not as documented out of `report`, an object, so that all that is left has the
/// documented types. Returns a clause for each thing taken out: what, and what was expected. Of a
/// long list of them, the first few and how many more there are.
std::vector<std::string> enforce_contract(Json& report, ReportOf of = ReportOf::kProcess);

}  // namespace cuvmm::tools
