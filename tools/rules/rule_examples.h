// SPDX-License-Identifier: Apache-2.0
// The programs that break a rule, from the cases and families of the conformance suite.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/suite/case.h"

namespace cuvmm::tools {

/// The cases of the built-in suite: the hand-written cases, then the families' singles.
const std::vector<conformance::Case>& suite_cases();

/// The program text of the shortest case that breaks only this rule; "" if there is none. A case
/// that runs on any machine comes before a case that needs two devices, or a newer driver.
std::string shortest_case(std::span<const conformance::Case> cases, std::string_view rule);

/// The functions whose calls break the rule in some case, sorted by name.
std::vector<std::string> functions_that_break(std::span<const conformance::Case> cases,
                                              std::string_view rule);

}  // namespace cuvmm::tools
