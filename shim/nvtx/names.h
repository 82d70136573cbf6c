// SPDX-License-Identifier: Apache-2.0
// What NVTX's messages say, and the functions of another tool that are called as well.
#pragma once

#include <string>
#include <string_view>

#include "shim/nvtx/abi.h"

namespace cuvmm::shim::nvtx {

/// Of a wide string, as UTF-8, as much as is kept.
std::string narrow(const wchar_t* text);

/// As much of a string as is kept of it.
std::string_view bounded(const char* text);

/// A string that the program registered: the handle for it, where no other tool made one.
const void* register_text(std::string text);
/// The text of another tool's handle.
void register_text_as(const void* handle, std::string text);

/// What a message says. `room` keeps what has to be made. The text lasts as long as both.
std::string_view message_text(std::int32_t type, const Message& message, std::string& room);
inline std::string_view message_text(const EventAttributes* attributes, std::string& room) {
  if (!attributes || attributes->size < sizeof(EventAttributes)) return {};
  return message_text(attributes->message_type, attributes->message, room);
}

}  // namespace cuvmm::shim::nvtx
