// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the nearest names to one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

/// Number of single-character insertions, deletions, replacements and swaps of neighbours that turn
/// `a` into `b`, upper and lower case taken as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Up to `limit` of `names` that are likely meant by `word`, nearest first: those that contain it,
/// and those within a third of its length in edits. Empty when nothing is near.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& names,
                                 std::size_t limit = 3);

/// "; did you mean a, b or c?", or "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace cuvmm::tools
