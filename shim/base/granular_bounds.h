// SPDX-License-Identifier: Apache-2.0
// Bounds that also know where, between their ends, there never was memory that the shim judges:
// plain memory often lies between two reservations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/base/bounds.h"

namespace cuvmm::shim {

/// Only ever widened, as Bounds. Has one bit for each granule of 2 MiB, in a table that is mapped
/// when the first range is added; untouched parts of the table take no memory. Thread-safe without
/// a lock.
class GranularBounds {
 public:
  static constexpr unsigned kGranuleShift = 21;

  GranularBounds() = default;
  GranularBounds(const GranularBounds&) = delete;
  GranularBounds& operator=(const GranularBounds&) = delete;
  ~GranularBounds();

  void widen(Address base, Size size) {
    if (covers(base, size)) [[likely]]
      return;
    widen_more(base, size);
  }
  /// Whether one of the touches reaches into a granule of an added range.
  bool near(const Touched& touched) const { return near(touched.list, touched.count); }
  bool near(const Touch* touches, std::size_t count) const {
    const Word* const table = table_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_far(table, touches[i])) return looks_near(touches, count);
    }
    return false;
  }
  bool holds(Address address) const { return bounds_.holds(address); }
  /// Whether one of the touches lies between the ends of the range.
  bool spans(const Touched& touched) const { return bounds_.near(touched); }

 private:
  using Word = std::atomic<std::uint64_t>;
  static constexpr unsigned kWordShift = kGranuleShift + 6;
  static constexpr Address kReach = Address{1} << 48;  ///< addresses above have no bits
  static constexpr std::size_t kWords = kReach >> kWordShift;
  /// The bits of a larger range are not set one by one: from then on all of the range counts.
  static constexpr Size kMostMarked = Size{1} << 41;

  bool covers(Address base, Size size) const {
    if (size == 0 || !holds(base) || !holds(base + (size - 1))) return false;
    return all_.load(std::memory_order_relaxed) || marked(base, size);
  }
  bool marked(Address base, Size size) const;
  [[gnu::cold]] void widen_more(Address base, Size size);
  // Whether one look at the table shows that the touch reaches into no granule of an added range.
  // The usual case: a row within one granule, which has no bit.
  [[gnu::always_inline]] bool is_far(const Word* table, const Touch& touch) const {
    if (!table || !Bounds::is_row(touch) || touch.base >= kReach) return false;
    const Address last = touch.base + (touch.width - (touch.width != 0));
    const std::uint64_t granule = touch.base >> kGranuleShift;
    if (last >> kGranuleShift != granule || all_.load(std::memory_order_relaxed)) return false;
    return (table[granule / 64].load(std::memory_order_relaxed) >> granule % 64 & 1) == 0;
  }
  bool looks_near(const Touch* touches, std::size_t count) const;
  Word* table();

  Bounds bounds_;
  std::atomic<bool> all_{false};  ///< the bits say nothing: each address of the range counts
  std::atomic<Word*> table_{nullptr};
};

}  // namespace cuvmm::shim
