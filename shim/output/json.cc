// SPDX-License-Identifier: Apache-2.0
#include "shim/output/json.h"

#include <cstdio>

namespace cuvmm::shim {

namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`; 0 if the bytes are not
// well-formed.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  std::size_t length = 0;
  unsigned lowest = 0x80, highest = 0xbf;  // of the second byte
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) lowest = 0xa0;   // an overlong form
    if (lead == 0xed) highest = 0x9f;  // surrogates
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) lowest = 0x90;
    if (lead == 0xf4) highest = 0x8f;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < lowest || byte(1) > highest) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char first = text.front();
    if (length == 0) {
      result += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    if (first == '"' || first == '\\') {
      (result += '\\') += first;
    } else if (static_cast<unsigned char>(first) < 0x20 || first == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(first));
      result += escaped;
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result += '"';
}

void add_key(std::string& out, const char* key) {
  if (!out.empty() && out.back() != '{' && out.back() != '[') out += ',';
  ((out += '"') += key) += "\":";
}

void add_text(std::string& out, const char* key, std::string_view value) {
  add_key(out, key);
  out += json_string(value);
}

void add_number(std::string& out, const char* key, std::uint64_t value) {
  add_key(out, key);
  out += std::to_string(value);
}

}  // namespace cuvmm::shim
