// SPDX-License-Identifier: Apache-2.0
// Suppresses findings that the user does not want to see, by rule and by function in the stack.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::frames {

/// One line of the file. Each field that is not empty must match.
struct Suppression {
  std::string rule;      ///< glob over rule ids
  std::string file;      ///< "FILE:LINE" of this line
  std::string function;  ///< glob over any frame's function, module path or module file name
};

class Suppressions {
 public:
  /// Reads lines of `rule:GLOB`, `function:GLOB`, or both with blanks between; `#` begins a
  /// comment. A line with an error is left out, and errors() names it as "FILE:LINE:COLUMN:
  /// expected ..."; the other lines apply. `file` is the name used in errors.
  static Suppressions parse(std::string_view text, const std::string& file);
  /// parse() for the text of a file. A file that cannot be read is an error.
  static Suppressions load(const std::string& path);

  const std::vector<std::string>& errors() const { return errors_; }
  bool empty() const { return entries_.empty(); }

  /// Whether a line that matches this rule also names a function, so that matches() needs frames.
  bool needs_stack(std::string_view rule) const;
  bool matches(std::string_view rule, std::span<const Frame> frames) const;
  /// "FILE:LINE: rule:GLOB function:GLOB" of each entry that was never the first entry to match.
  std::vector<std::string> unused() const;

 private:
  std::vector<Suppression> entries_;
  mutable std::vector<unsigned char> used_;  ///< one flag per entry; any thread sets it
  std::vector<std::string> errors_;
};

}  // namespace cuvmm::frames
