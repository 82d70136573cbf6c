// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/findings_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "frames/interleave.h"
#include "frames/stack_text.h"
#include "tools/report/report_merge.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostLines = 20;

bool counts(const std::string& kind) {
  return kind == "error" || kind == "undefined" || kind == "leak";
}

bool is_python(const Json& frame) { return frame.value("language", "") == "python"; }

// Whether the frame belongs to Python's interpreter, or to a library that only passes calls from
// Python on to C.
bool hands_on(const Json& frame) {
  frames::Frame native;
  native.module = frame.value("module", "");
  return frames::of_interpreter(native) || frames::hands_on_from_python(native.module);
}

std::string frame_text(const Json& frame) {
  const std::string function = frame.value("function", ""), file = frame.value("file", "");
  std::string text = function.empty() ? "?" : function;
  if (!file.empty()) {
    return text +
           fmt::format(" at {}:{}", frames::file_name(file), frame.value("line", std::uint64_t{0}));
  }
  const std::string module = frame.value("module", "");
  if (!module.empty()) {
    text += fmt::format(" ({}+{:#x})", frames::file_name(module),
                        frame.value("offset", std::uint64_t{0}));
  }
  return text;
}

std::string place_text(const Json& finding) {
  const auto stack = finding.find("stack");
  if (stack == finding.end() || !stack->is_array() || stack->empty()) return "-";
  const bool python = std::ranges::any_of(*stack, &is_python);
  const auto best = std::ranges::find_if(
      *stack, [&](const Json& frame) { return is_python(frame) || !python || !hands_on(frame); });
  std::string text = frame_text(best == stack->end() ? stack->front() : *best);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

std::string findings_table(const Json& findings) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> by_place;
  for (const Json& finding : findings) {
    if (!counts(finding.value("kind", ""))) continue;
    std::uint64_t& count = by_place[{finding.value("rule", ""), place_text(finding)}];
    count = saturating_sum(count, finding.value("count", std::uint64_t{1}));
  }
  if (by_place.size() < 2) return "";
  std::vector<std::pair<std::pair<std::string, std::string>, std::uint64_t>> lines(by_place.begin(),
                                                                                   by_place.end());
  std::ranges::stable_sort(lines, [](const auto& a, const auto& b) { return a.second > b.second; });
  const std::size_t shown = std::min(kMostLines, lines.size());
  std::size_t rule_width = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    rule_width = std::max(rule_width, lines[i].first.first.size());
  }
  const std::size_t count_width = fmt::formatted_size("{}", lines.front().second);
  std::string text = "cuvmm: findings by rule and place:\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [key, count] = lines[i];
    text += fmt::format("    {:>{}}  {:<{}}  {}\n", count, count_width, key.first, rule_width,
                        key.second);
  }
  if (const std::size_t more = lines.size() - shown; more != 0) {
    text += fmt::format("    and {} more place{} (--report has all)\n", more, more == 1 ? "" : "s");
  }
  return text;
}

}  // namespace cuvmm::tools
