// SPDX-License-Identifier: Apache-2.0
// Describes a finding: its replay command, as program text, as C and as a test.
#pragma once

#include <string>

#include "fuzz/search/isolation.h"

namespace cuvmm::fuzz {

/// A GoogleTest case that replays the program and expects agreement.
std::string test_case(const std::string& title, const std::string& text);

/// Writes FOLDER/NAME.cuvmm and FOLDER/NAME.c. Returns text to print: the replay command, the
/// program, the path of the C file and the test.
std::string report(const Target& target, const Finding& finding, const std::string& folder,
                   const std::string& name);

}  // namespace cuvmm::fuzz
