// SPDX-License-Identifier: Apache-2.0
// The bytes of memory that were ever written.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace cuvmm::emulator {

/// A bit for each byte. An object without bits takes every byte for written.
class Written {
 public:
  Written() = default;
  explicit Written(std::uint64_t bytes) : words_(bytes / 64 + 1) {
    void* const at = mmap(nullptr, words_ * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) bits_ = static_cast<std::uint64_t*>(at);
  }
  Written(Written&& other) noexcept
      : bits_(std::exchange(other.bits_, nullptr)), words_(other.words_) {}
  Written& operator=(Written&& other) noexcept {
    std::swap(bits_, other.bits_);
    std::swap(words_, other.words_);
    return *this;
  }
  ~Written() {
    if (bits_) munmap(bits_, words_ * sizeof(std::uint64_t));
  }

  explicit operator bool() const { return bits_ != nullptr; }
  std::uint64_t* bits() { return bits_; }
  bool get(std::uint64_t at) const { return bits_[at / 64] >> at % 64 & 1; }
  void set(std::uint64_t first, std::uint64_t count) {
    if (!bits_) return;
    for (std::uint64_t at = first; at < first + count;) {
      const std::uint64_t shift = at % 64, room = 64 - shift;
      const std::uint64_t taken = room < first + count - at ? room : first + count - at;
      bits_[at / 64] |= (taken == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << taken) - 1)
                        << shift;
      at += taken;
    }
  }
  /// Makes the bytes what those of `other`, from `from` on, are.
  void copy(std::uint64_t to, const Written& other, std::uint64_t from, std::uint64_t count) {
    const bool back = this == &other && to > from;
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t at = back ? count - 1 - k : k;
      const std::uint64_t bit = std::uint64_t{1} << (to + at) % 64;
      std::uint64_t& word = bits_[(to + at) / 64];
      word = other.get(from + at) ? word | bit : word & ~bit;
    }
  }

 private:
  std::uint64_t* bits_ = nullptr;
  std::uint64_t words_ = 0;
};

}  // namespace cuvmm::emulator
