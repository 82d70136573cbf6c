// SPDX-License-Identifier: Apache-2.0
// Shell-like patterns: * is any run of characters, ? is one.
#pragma once

#include <string_view>

namespace cuvmm::frames {

/// Whether the whole of `text` matches. Linear in practice; no backtracking deeper than one star.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace cuvmm::frames
