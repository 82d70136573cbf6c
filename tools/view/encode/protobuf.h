// SPDX-License-Identifier: Apache-2.0
// Messages in the wire format of protocol buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cuvmm::tools {

/// One message; fields are appended in the order of the calls.
class ProtobufMessage {
 public:
  void number(unsigned field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
  }
  void fixed64(unsigned field, std::uint64_t value) {
    tag(field, kFixed64);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void text(unsigned field, std::string_view value) {
    tag(field, kBytes);
    varint(value.size());
    bytes_ += value;
  }
  void message(unsigned field, const ProtobufMessage& value) { text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr unsigned kVarint = 0, kFixed64 = 1, kBytes = 2;
  void tag(unsigned field, unsigned type) { varint(field << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace cuvmm::tools
