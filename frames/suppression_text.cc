// SPDX-License-Identifier: Apache-2.0
#include "frames/suppression_text.h"

#include <algorithm>

namespace cuvmm::frames {

namespace {

constexpr std::string_view kBlanks = " \t\r";

// Reads the fields of one line. Returns the column (1-based) of an error and fills `expected`; 0
// without an error.
std::size_t parse_line(std::string_view line, SuppressionLine& entry, std::string& expected) {
  std::size_t at = 0;
  while ((at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos && line[at] != '#') {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    const std::string_view field = line.substr(at, end - at);
    const std::size_t colon = field.find(':');
    const std::string_view key = field.substr(0, colon);
    if (colon == std::string_view::npos || (key != "rule" && key != "function")) {
      expected = "expected rule:GLOB or function:GLOB, found '" + std::string(field) + "'";
      return at + 1;
    }
    std::string& value = key == "rule" ? entry.rule : entry.function;
    if (colon + 1 == field.size()) {
      expected = "expected a pattern after '" + std::string(key) + ":'";
      return at + colon + 2;
    }
    if (!value.empty()) {
      expected = "expected one '" + std::string(key) + ":' on a line, found a second";
      return at + 1;
    }
    value = field.substr(colon + 1);
    at = end;
  }
  return 0;
}

}  // namespace

SuppressionText read_suppressions(std::string_view text) {
  SuppressionText result;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    SuppressionLine entry{.number = number};
    std::string expected;
    if (const std::size_t column = parse_line(line, entry, expected)) {
      result.errors.push_back(std::to_string(number) + ":" + std::to_string(column) + ": " +
                              expected);
    } else if (!entry.rule.empty() || !entry.function.empty()) {
      result.lines.push_back(std::move(entry));
    }
  }
  return result;
}

}  // namespace cuvmm::frames
