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
  /// Before each time of reading. True: it has forgotten, and so should whoever relied on it.
  bool begin() noexcept {
    if (++times_ % kTimes != 0) return false;
    sets_ = {};
    return true;
  }

  /// Whether all of [address, address + size) can be read. `size` 0: true.
  bool readable(std::uintptr_t address, std::size_t size) noexcept {
    if (size == 0) return true;
    const std::uintptr_t last = address + (size - 1);
    if (address < kLeast || last < address) return false;
    std::uintptr_t page = address >> kShift;
    bool there = known(page);
    while (there && page != last >> kShift) there = known(++page);
    return there;
  }

  /// Whether both addresses lie on one page: if the one can be read, then so can the other.
  static bool on_one_page(std::uintptr_t a, std::uintptr_t b) noexcept {
    return (a ^ b) >> kShift == 0;
  }

  /// The value there, which can be read.
  template <class Value>
  static Value at(std::uintptr_t address) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
  }

  /// Copies a value from there. False, and `value` as it was, where it cannot be read.
  template <class Value>
  bool read(std::uintptr_t address, Value& value) noexcept {
    if (!readable(address, sizeof value)) return false;
    value = at<Value>(address);
    return true;
  }

 private:
  // The smallest page of both architectures: a larger one is asked for in parts.
  static constexpr unsigned kShift = 12;
  static constexpr std::uintptr_t kLeast = std::uintptr_t{1} << kShift;  // page 0 is nobody's
  static constexpr std::size_t kSets = 128, kWays = 4;
  static constexpr std::uint32_t kTimes = 1024;

  // Numbers of pages that can be read, the one that was asked for last first; 0: none. A page has
  // more than one place: two that are read by turns must not push each other out, as each of these
  // reads would ask the kernel.
  using Set = std::array<std::uintptr_t, kWays>;

  Set& set_of(std::uintptr_t page) noexcept { return sets_[(page * 0x9e3779b97f4a7c15u) >> 57]; }
  static_assert(kSets == 128);
  bool known(std::uintptr_t page) noexcept { return set_of(page)[0] == page || look(page); }
  // In the page's other places; then asks the kernel.
  bool look(std::uintptr_t page) noexcept;

  std::array<Set, kSets> sets_;
  std::uint32_t times_;
};

}  // namespace cuvmm::shim
