// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line/suggest.h"

#include <algorithm>
#include <cctype>

namespace cuvmm::tools {

namespace {
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}
}  // namespace

std::size_t edit_distance(std::string_view a_text, std::string_view b_text) {
  const std::string a = lower(a_text), b = lower(b_text);
  // The last three rows of the usual table, because a swap of neighbours looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& names,
                                 std::size_t limit) {
  struct Candidate {
    std::size_t distance;
    const std::string* name;
  };
  const std::string low = lower(word);
  const std::size_t tolerance = std::max<std::size_t>(1, word.size() / 3);
  std::vector<Candidate> candidates;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    // A part of a name ("offset-zero") has a large edit distance, although the user means that
    // name.
    const bool part = low.size() >= 3 && lower(name).find(low) != std::string::npos;
    if (part || distance <= tolerance) candidates.push_back({part ? 0 : distance, &name});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  std::vector<std::string> result;
  for (const Candidate& candidate : candidates) {
    if (result.size() == limit) break;
    result.push_back(*candidate.name);
  }
  return result;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string> near = nearest(word, names);
  if (near.empty()) return "";
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
    text += near[i];
  }
  return text + "?";
}

}  // namespace cuvmm::tools
