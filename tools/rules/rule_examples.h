// SPDX-License-Identifier: Apache-2.0
// The example program of a rule: the shortest recorded case that breaks it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cuvmm::tools {

/// The contents of the files in conformance/cases/ (docs/cases.md describes them). The build embeds
/// them.
extern const std::span<const char* const> kCaseTexts;

/// The program text of the shortest case in `texts` that breaks only this rule; "" if there is
/// none. Cases that need something of the machine are ignored.
std::string shortest_case(std::span<const char* const> texts, std::string_view rule);

}  // namespace cuvmm::tools
