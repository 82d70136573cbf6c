// SPDX-License-Identifier: Apache-2.0
// Findings that the user does not want to see, by rule and by function in the stack.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::frames {

/// One line of the file: what is not empty must match.
struct Suppression {
  std::string rule;      ///< glob over rule ids
  std::string file;      ///< "FILE:LINE" that it stands at
  std::string function;  ///< glob over any frame's function, module path or module file name
};

class Suppressions {
 public:
  /// Reads lines of `rule:GLOB`, `function:GLOB`, or both with blanks between; `#` begins a
  /// comment. A line that is not understood is left out and named in errors() as "FILE:LINE:COLUMN:
  /// what was expected"; the other ones hold. `file` is the name used in errors.
  static Suppressions parse(std::string_view text, const std::string& file);
  /// The same for a file; one that cannot be read is an error.
  static Suppressions load(const std::string& path);

  const std::vector<std::string>& errors() const { return errors_; }
  bool empty() const { return entries_.empty(); }

  /// Whether a line about this rule needs frames to decide.
  bool needs_stack(std::string_view rule) const;
  bool matches(std::string_view rule, std::span<const Frame> frames) const;
  /// "FILE:LINE: rule:GLOB function:GLOB" of each entry that was never the first to match.
  std::vector<std::string> unused() const;

 private:
  std::vector<Suppression> entries_;
  mutable std::vector<unsigned char> used_;  ///< of the entries; written by any thread
  std::vector<std::string> errors_;
};

}  // namespace cuvmm::frames
