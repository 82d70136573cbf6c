// SPDX-License-Identifier: Apache-2.0
// Reads memory whose layout is assumed, not known: an address without memory causes no fault.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cuvmm::shim {

/// Asks the kernel about each page before the first read, and remembers the pages that can be read.
/// Only for data that no other thread frees meanwhile. Belongs to one thread, and lives as long as
/// that thread: begin() forgets all pages from time to time, because the data may have moved and an
/// old page may be unmapped. Async-signal-safe; restores errno. An object of zero bytes remembers
/// no page.
class GuardedMemory {
 public:
  /// Called before each series of reads. Returns true if begin() has forgotten all pages; then the
  /// caller must forget what it read there.
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

  /// Whether both addresses lie on one page: then one can be read if the other can.
  static bool on_one_page(std::uintptr_t a, std::uintptr_t b) noexcept {
    return (a ^ b) >> kShift == 0;
  }

  /// The value at an address that can be read.
  template <class Value>
  static Value at(std::uintptr_t address) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
  }

  /// Copies a value from the address. Returns false, and leaves `value` unchanged, if the memory
  /// cannot be read.
  template <class Value>
  bool read(std::uintptr_t address, Value& value) noexcept {
    if (!readable(address, sizeof value)) return false;
    value = at<Value>(address);
    return true;
  }

 private:
  // The smallest page size of both architectures: a larger page is asked for in parts.
  static constexpr unsigned kShift = 12;
  static constexpr std::uintptr_t kLeast = std::uintptr_t{1} << kShift;  // no process has memory in
                                                                         // page 0
  static constexpr std::size_t kSets = 128, kWays = 4;
  static constexpr std::uint32_t kTimes = 1024;

  // The numbers of pages that can be read, the last one that was asked for first; 0: none. A page
  // has several possible places, because two pages that are read alternately must not evict each
  // other: each of these reads would ask the kernel.
  using Set = std::array<std::uintptr_t, kWays>;

  Set& set_of(std::uintptr_t page) noexcept { return sets_[(page * 0x9e3779b97f4a7c15u) >> 57]; }
  static_assert(kSets == 128);
  bool known(std::uintptr_t page) noexcept { return set_of(page)[0] == page || look(page); }
  // Looks in the page's other places; then asks the kernel.
  bool look(std::uintptr_t page) noexcept;

  std::array<Set, kSets> sets_;
  std::uint32_t times_;
};

}  // namespace cuvmm::shim
