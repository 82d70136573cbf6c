// SPDX-License-Identifier: Apache-2.0
// The numbers of descriptors that the model knows: for the program's other descriptors, close()
// costs only a load.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cuvmm::shim {

/// Lock-free; async-signal-safe. Numbers beyond kMost are not followed.
class TrackedNumbers {
 public:
  static constexpr int kMost = 1 << 16;

  constexpr TrackedNumbers() = default;
  void add(int fd) noexcept {
    if (holds(fd)) word(fd).fetch_or(bit(fd), std::memory_order_relaxed);
  }
  void remove(int fd) noexcept {
    if (holds(fd)) word(fd).fetch_and(~bit(fd), std::memory_order_relaxed);
  }
  bool has(int fd) const noexcept {
    return holds(fd) &&
           (words_[static_cast<std::size_t>(fd) / 64].load(std::memory_order_relaxed) & bit(fd));
  }

 private:
  static bool holds(int fd) { return fd >= 0 && fd < kMost; }
  static std::uint64_t bit(int fd) { return std::uint64_t{1} << (fd % 64); }
  std::atomic<std::uint64_t>& word(int fd) { return words_[static_cast<std::size_t>(fd) / 64]; }

  std::array<std::atomic<std::uint64_t>, kMost / 64> words_{};
};

/// Numbers of this process, or of its parent until a child of fork starts anew: exported, or given
/// to the driver by an import.
inline constinit TrackedNumbers g_tracked;

}  // namespace cuvmm::shim
