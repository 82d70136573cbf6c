// SPDX-License-Identifier: Apache-2.0
// The bytes of an image of device code, whose length the program need not give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/image/readable.h"

namespace cuvmm::kernels {

class CodeBytes {
 public:
  static constexpr std::size_t kUnknown = SIZE_MAX;

  /// `size`: bytes; kUnknown: the image ends where memory cannot be read any more.
  CodeBytes(const char* bytes, std::size_t size) : bytes_(bytes), size_(size) {}

  bool bounded() const { return size_ != kUnknown; }
  /// Whether [offset, offset + size) belongs to the image. An image of unknown size is taken to
  /// reach as far as memory can be read without a gap: memory after a gap belongs to another
  /// object.
  bool inside(std::uint64_t offset, std::uint64_t size) const {
    if (bounded()) return offset <= size_ && size <= size_ - offset;
    if (offset > UINT64_MAX - size) return false;
    const std::uint64_t end = offset + size;
    if (end <= readable_) return true;
    if (!is_readable(bytes_ + readable_, end - readable_)) return false;
    readable_ = end;
    return true;
  }
  /// The bytes of a range that is inside().
  std::string_view part(std::uint64_t offset, std::uint64_t size) const {
    return {bytes_ + offset, size};
  }
  template <class Value>
  Value at(std::uint64_t offset) const {
    Value value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  /// The text up to the image's end, or to the first 0.
  std::string_view text() const {
    return {bytes_, bounded() ? strnlen(bytes_, size_) : readable_length(bytes_)};
  }

 private:
  const char* bytes_;
  std::size_t size_;
  // For an unknown size: the number of bytes known to be readable.
  mutable std::uint64_t readable_ = 0;
};

}  // namespace cuvmm::kernels
