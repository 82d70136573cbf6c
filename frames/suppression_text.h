// SPDX-License-Identifier: Apache-2.0
// Reads the text of a file of suppressions (docs/suppressions.md), for the code that applies the
// suppressions and the code that checks the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::frames {

struct SuppressionLine {
  std::size_t number = 0;     ///< from 1
  std::string rule = {};      ///< glob over rule ids; "" matches any rule
  std::string function = {};  ///< glob over functions and modules; "" matches any
};

struct SuppressionText {
  std::vector<SuppressionLine> lines;  ///< the lines with at least one field
  /// "LINE:COLUMN: expected ..." for each line with an error.
  std::vector<std::string> errors;
};

/// Reads lines of `rule:GLOB`, `function:GLOB`, or both with blanks between; `#` begins a comment.
SuppressionText read_suppressions(std::string_view text);

}  // namespace cuvmm::frames
