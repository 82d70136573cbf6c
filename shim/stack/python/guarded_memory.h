// SPDX-License-Identifier: Apache-2.0
// Reading memory whose layout is only believed to be known: what is not there is no fault.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cuvmm::shim {

/// Asks the kernel about each page before it is read, and remembers which can be read. For data
/// that no other thread gives back meanwhile. Of use to one thread, as long as that thread lives:
/// begin() forgets now and then, as a page may be gone that the data has left. Async-signal-safe;
/// keeps errno. Zero bytes are one that remembers nothing.
class GuardedMemory {
 public:
  /// Before each time of reading.
  void begin() noexcept {
    if (++times_ % kTimes == 0) pages_.fill(0);
  }

  /// Whether all of [address, address + size) can be read. `size` 0: true.
  bool readable(std::uintptr_t address, std::size_t size) noexcept {
    if (size == 0) return true;
    const std::uintptr_t last = address + (size - 1);
    if (address < kLeast || last < address) return false;
    for (std::uintptr_t page = address >> kShift; page <= last >> kShift; ++page) {
      if (pages_[page % kPages] != page && !ask(page)) return false;
    }
    return true;
  }

  /// Copies a value from there. False, and `value` as it was, where it cannot be read.
  template <class Value>
  bool read(std::uintptr_t address, Value& value) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    if (!readable(address, sizeof value)) return false;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return true;
  }

 private:
  // The smallest page of both architectures: a larger one is asked for in parts.
  static constexpr unsigned kShift = 12;
  static constexpr std::uintptr_t kLeast = std::uintptr_t{1} << kShift;  // page 0 is nobody's
  static constexpr std::size_t kPages = 128;
  static constexpr std::uint32_t kTimes = 1024;

  bool ask(std::uintptr_t page) noexcept;

  std::array<std::uintptr_t, kPages> pages_;  ///< numbers of pages that can be read; 0: none
  std::uint32_t times_;
};

}  // namespace cuvmm::shim
