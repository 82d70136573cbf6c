// SPDX-License-Identifier: Apache-2.0
// The texts of NVTX's messages, also for handles of another tool.
#pragma once

#include <string>
#include <string_view>

#include "shim/nvtx/abi.h"

namespace cuvmm::shim::nvtx {

/// A wide string as UTF-8, cut at the longest text that cuvmm stores.
std::string narrow(const wchar_t* text);

/// A string, cut at the longest text that cuvmm stores.
std::string_view bounded(const char* text);

/// The handle for a string that the program registered, if no other tool made a handle.
const void* register_text(std::string text);
/// The text of another tool's handle.
void register_text_as(const void* handle, std::string text);

/// The text of a message. `buffer` holds a text that has to be made. The text is valid as long as
/// both `message` and `buffer`.
std::string_view message_text(std::int32_t type, const Message& message, std::string& buffer);
inline std::string_view message_text(const EventAttributes* attributes, std::string& buffer) {
  if (!attributes || attributes->size < sizeof(EventAttributes)) return {};
  return message_text(attributes->message_type, attributes->message, buffer);
}

}  // namespace cuvmm::shim::nvtx
