// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/xml_text.h"

#include <cstdint>

namespace cuvmm {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct Character {
  std::size_t bytes;
  bool allowed;
};

// The character that `rest` begins with, whose first byte is above 0x7f. A byte that begins no
// character counts as one that is not allowed.
Character character(std::string_view rest) {
  const auto lead = static_cast<unsigned char>(rest[0]);
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || rest.size() < bytes) return {1, false};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(rest[i]);
    if ((next & 0xc0) != 0x80) return {1, false};
    code = code << 6 | (next & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[bytes] || code > 0x10ffff || surrogate) return {1, false};
  return {bytes, code != 0xfffe && code != 0xffff};
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
      case '\t':
      case '\r':
        // Escaped, because an XML reader turns these characters into spaces in an attribute.
        out += "&#" + std::to_string(static_cast<int>(c)) + ";";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x80) {
          out += static_cast<unsigned char>(c) < 0x20 ? kReplacement : text.substr(i, 1);
          break;
        }
        const Character here = character(text.substr(i));
        out += here.allowed ? text.substr(i, here.bytes) : kReplacement;
        i += here.bytes - 1;
    }
  }
  return out;
}

}  // namespace cuvmm
