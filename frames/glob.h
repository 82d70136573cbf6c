// SPDX-License-Identifier: Apache-2.0
// Matches shell-like patterns: * stands for any run of characters, ? for one character.
#pragma once

#include <string_view>

namespace cuvmm::frames {

/// Whether the pattern matches the whole of `text`. Linear in practice, because only the last star
/// is tried again.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace cuvmm::frames
