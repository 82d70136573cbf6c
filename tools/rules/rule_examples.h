// SPDX-License-Identifier: Apache-2.0
// Example programs by rule: the shortest of the recorded cases that breaks it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cuvmm::tools {

/// The files of conformance/cases/, whole (docs/cases.md describes them). Made at build time.
extern const std::span<const char* const> kCaseTexts;

/// The program of the shortest case in `texts` that breaks this rule and no other, as program text;
/// "" when there is none. Cases that need something of the machine are not taken.
std::string shortest_case(std::span<const char* const> texts, std::string_view rule);

}  // namespace cuvmm::tools
