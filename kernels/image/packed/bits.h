// SPDX-License-Identifier: Apache-2.0
// Streams of bits, lowest bit first, read from their beginning or from their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cuvmm::kernels::packed {

/// `count` bits, 32 at most, from bit `at` on; those outside of the bytes are 0.
inline std::uint32_t bits_at(std::string_view bytes, std::ptrdiff_t at, unsigned count) {
  std::uint64_t word = 0;
  const auto first = static_cast<std::size_t>(at / 8);
  if (at >= 0 && first < bytes.size() && bytes.size() - first >= sizeof word) {
    std::memcpy(&word, bytes.data() + first, sizeof word);
    return static_cast<std::uint32_t>(word >> at % 8 & ((std::uint64_t{1} << count) - 1));
  }
  std::uint32_t value = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::ptrdiff_t bit = at + static_cast<std::ptrdiff_t>(i);
    if (bit < 0 || static_cast<std::size_t>(bit / 8) >= bytes.size()) continue;
    const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(bit / 8)]);
    value |= std::uint32_t{byte} >> bit % 8 << 31 >> (31 - i);
  }
  return value;
}

class ForwardBits {
 public:
  explicit ForwardBits(std::string_view bytes) : bytes_(bytes) {}
  std::uint32_t read(unsigned count) {
    const std::uint32_t value = bits_at(bytes_, at_, count);
    at_ += count;
    return value;
  }
  void go_back(unsigned count) { at_ -= count; }
  /// Bytes that were begun; more than there are if it was read too far.
  std::size_t bytes() const { return static_cast<std::size_t>(at_ + 7) / 8; }

 private:
  std::string_view bytes_;
  std::ptrdiff_t at_ = 0;
};

/// The last bit that is set ends the stream.
class BackwardBits {
 public:
  explicit BackwardBits(std::string_view bytes) : bytes_(bytes) {
    if (bytes.empty() || bytes.back() == 0) return;
    left_ = static_cast<std::ptrdiff_t>(bytes.size() * 8) - 1;
    while (bits_at(bytes_, left_, 1) == 0) --left_;
  }
  bool ok() const { return left_ >= 0; }
  /// Bits before the first are 0, and make it no longer ok().
  std::uint32_t read(unsigned count) {
    left_ -= count;
    return bits_at(bytes_, left_, count);
  }
  std::uint32_t peek(unsigned count) const { return bits_at(bytes_, left_ - count, count); }
  void skip(unsigned count) { left_ -= count; }
  bool at_end() const { return left_ == 0; }

 private:
  std::string_view bytes_;
  std::ptrdiff_t left_ = -1;
};

}  // namespace cuvmm::kernels::packed
