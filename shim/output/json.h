// SPDX-License-Identifier: Apache-2.0
// JSON text, written by hand, because no third-party library is linked into the preloaded object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cuvmm::shim {

/// The string in quotes, escaped. Bytes that are not UTF-8 become U+FFFD, so that any reader
/// accepts the text.
std::string json_string(std::string_view text);

/// Appends a member to the object at the end of `out`; the caller of add_key() appends the value.
void add_key(std::string& out, const char* key);
void add_text(std::string& out, const char* key, std::string_view value);
void add_number(std::string& out, const char* key, std::uint64_t value);

}  // namespace cuvmm::shim
