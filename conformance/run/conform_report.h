// SPDX-License-Identifier: Apache-2.0
// The results of a conformance run as files.
#pragma once

#include <string>
#include <vector>

#include "conformance/run/conform.h"

namespace cuvmm::conformance {

/// {"schema":1, "driver":{...}, "gpu", "date", "counts":{status:N}, "cases":[{name, status, known,
/// reason, rules, program, statements:[{call, expected, observed, breaks, ok}]}]}
std::string conform_json(const Recording& recording, const std::vector<CaseResult>& results);

/// One test suite per group of names. Deviations, crashes and timeouts are failures if `strict`,
/// else passed tests that mention them in system-out. A case that was not run, or that is waived,
/// is skipped.
std::string conform_junit(const Recording& recording, const std::vector<CaseResult>& results,
                          bool strict);

/// Whether the case makes the run fail: a Fail, a crash or hang of a legal call, and when `strict`
/// every deviation, crash and timeout.
bool fails_run(const CaseResult& result, bool strict);

}  // namespace cuvmm::conformance
