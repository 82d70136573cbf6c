// SPDX-License-Identifier: Apache-2.0
#include "tools/crash/xid.h"

#include <cctype>
#include <string_view>

namespace cuvmm::tools {

namespace {

int digit(char c) {
  const int lower = std::tolower(static_cast<unsigned char>(c));
  if (lower >= '0' && lower <= '9') return lower - '0';
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Reads the digits at the start of the text, and removes them from it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t number = 0;
  int digits = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text[0] == '_' && digits > 0) continue;
    const int value = digit(text[0]);
    if (value < 0) break;
    if (++digits > 16) return std::nullopt;
    number = number << 4 | static_cast<std::uint64_t>(value);
  }
  return digits == 0 ? std::nullopt : std::optional(number);
}

}  // namespace

std::optional<std::uint64_t> parse_address(const std::string& text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  return rest.empty() ? number : std::nullopt;
}

std::optional<std::uint64_t> address_of_xid(const std::string& line) {
  // "faulted @ 0x7f6a_2c000000"; the words before the number differ between drivers.
  if (line.find("Xid") == std::string::npos) return std::nullopt;
  for (const std::string_view before : {"faulted @ ", "fault address ", "address "}) {
    const std::size_t at = line.find(before);
    if (at == std::string::npos) continue;
    std::string_view rest = std::string_view(line).substr(at + before.size());
    if (!rest.starts_with("0x")) continue;
    if (const auto number = take_number(rest)) return number;
  }
  return std::nullopt;
}

}  // namespace cuvmm::tools
