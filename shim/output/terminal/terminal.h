// SPDX-License-Identifier: Apache-2.0
// Text of findings for a terminal: colours, and lines that fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cuvmm::shim {

enum class ColorChoice : unsigned char { kAuto, kAlways, kNever };

struct TextStyle {
  bool color = false;
  std::size_t width = 0;  ///< columns; 0: lines are as long as they are
};

/// What suits the stderr that text goes to, at this moment. kAuto: colours if it is a terminal and
/// neither NO_COLOR nor TERM=dumb is set. Keeps errno.
TextStyle style_of_stderr(ColorChoice choice) noexcept;

/// The same text in that style. Broken are lines at blanks, and go on below their first word; a
/// word that is longer than a line stays whole, so that paths can be copied.
std::string styled(std::string_view text, const TextStyle& style);

}  // namespace cuvmm::shim
