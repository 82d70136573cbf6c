// SPDX-License-Identifier: Apache-2.0
// "Did you mean": finds the known names that are nearest to an unknown word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

/// Number of single-character insertions, deletions, replacements and swaps of neighbours that turn
/// `a` into `b`, upper and lower case taken as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Up to `limit` of `names` that the user may have meant by `word`, nearest first: names that
/// contain `word`, and names whose edit distance is at most a third of its length.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& names,
                                 std::size_t limit = 3);

/// "; did you mean a, b or c?"; "" if no name is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace cuvmm::tools
