// SPDX-License-Identifier: Apache-2.0
#include "rulebook/profile/toml_text.h"

#include <utility>

namespace cuvmm {

namespace {

std::string toml_place(const std::string& origin, std::uint32_t line, std::uint32_t column) {
  return origin + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

}  // namespace

std::string toml_mistake(const std::string& origin, const toml::source_region& region,
                         const std::string& what) {
  return toml_place(origin, region.begin.line, region.begin.column) + what;
}

TomlResult read_toml(std::string_view text, const std::string& origin) {
  // toml++ is not safe if a key contains other characters, and uses a stack frame for each part of
  // a key.
  constexpr std::uint32_t kLongest = 4096;
  std::uint32_t line = 1, column = 1;
  for (const char c : text) {
    const bool strange = (c < ' ' || c > '~') && c != '\t' && c != '\r' && c != '\n';
    if (strange || (column > kLongest && c != '\n')) {
      return {
          {},
          toml_place(origin, line, column) +
              (strange ? "expected printable ASCII" : "expected lines of at most 4096 characters")};
    }
    if (c == '\n') ++line;
    column = c == '\n' ? 1 : column + 1;
  }
  toml::parse_result result = toml::parse(text, origin);
  if (!result) {
    return {
        {},
        toml_mistake(origin, result.error().source(), std::string(result.error().description()))};
  }
  return {std::move(result).table(), ""};
}

}  // namespace cuvmm
