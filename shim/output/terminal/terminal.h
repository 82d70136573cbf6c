// SPDX-License-Identifier: Apache-2.0
// Formats the text of findings for a terminal: colours, and lines that fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cuvmm::shim {

enum class ColorChoice : unsigned char { kAuto, kAlways, kNever };

struct TextStyle {
  bool color = false;
  std::size_t width = 0;  ///< columns; 0: lines are not broken
};

/// The style for the stderr that text goes to, at this moment. kAuto: colours if it is a terminal
/// and neither NO_COLOR nor TERM=dumb is set. Preserves errno.
TextStyle style_of_stderr(ColorChoice choice) noexcept;

/// The text in that style. Lines are broken at blanks, and continue below their first word; a word
/// that is longer than a line stays whole, so that paths can be copied.
std::string styled(std::string_view text, const TextStyle& style);

}  // namespace cuvmm::shim
