// SPDX-License-Identifier: Apache-2.0
// The text of a file of suppressions (docs/suppressions.md), for who obeys it and who checks it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::frames {

struct SuppressionLine {
  std::size_t number = 0;     ///< from 1
  std::string rule = {};      ///< glob over rule ids; "" any
  std::string function = {};  ///< glob over functions and modules; "" any
};

struct SuppressionText {
  std::vector<SuppressionLine> lines;  ///< those that hold something
  /// "LINE:COLUMN: what was expected" of each line that is not understood.
  std::vector<std::string> errors;
};

/// Reads lines of `rule:GLOB`, `function:GLOB`, or both with blanks between; `#` begins a comment.
SuppressionText read_suppressions(std::string_view text);

}  // namespace cuvmm::frames
