// SPDX-License-Identifier: Apache-2.0
// The range of addresses at which copies and fills may touch memory that the shim judges.
#pragma once

#include <atomic>

#include "rulebook/check/touch.h"
#include "rulebook/objects/objects.h"

namespace cuvmm::shim {

/// The copies and fills of one call.
struct Touched {
  Touch list[kMaxTouches];
  std::size_t count = 0;
};

/// Only ever widened: contains every reservation, external buffer and pool memory on the host that
/// the session saw. Every copy reads it without a lock.
class Bounds {
 public:
  void widen(Address base, Size size) {
    Address low = low_.load(std::memory_order_relaxed);
    while (base < low && !low_.compare_exchange_weak(low, base)) {
    }
    Address high = high_.load(std::memory_order_relaxed);
    const Address end = base + size;
    while (end > high && !high_.compare_exchange_weak(high, end)) {
    }
  }
  /// The range at this moment, for a caller that compares several addresses.
  struct Range {
    Address low = 0;
    Address size = 0;
    bool holds(Address address) const { return address - low < size; }
  };
  Range range() const {
    const Address low = low_.load(std::memory_order_relaxed);
    const Address high = high_.load(std::memory_order_relaxed);
    return {low, high > low ? high - low : 0};
  }
  bool holds(Address address) const { return range().holds(address); }
  /// Whether one of the touches reaches into the range.
  bool near(const Touched& touched) const { return near(touched.list, touched.count); }
  bool near(const Touch* touches, std::size_t count) const;
  /// near() for one touch, inlined for one row.
  [[gnu::always_inline]] bool near(const Touch& touch) const {
    if (!is_row(touch)) [[unlikely]]
      return near(&touch, 1);
    const Address low = low_.load(std::memory_order_acquire);
    if (touch.base >= high_.load(std::memory_order_acquire)) return false;
    return touch.base > low || touch.width > low - touch.base;
  }

  /// Whether the touch is one row, whose extent needs no product. Nearly every one is.
  static bool is_row(const Touch& touch) { return touch.rows <= 1 && touch.slices <= 1; }
  /// The bytes from the first to the last that the touch reaches.
  static unsigned __int128 extent_of(const Touch& touch) {
    unsigned __int128 size = touch.width;
    size += static_cast<unsigned __int128>(touch.pitch) * (touch.rows ? touch.rows - 1 : 0);
    size +=
        static_cast<unsigned __int128>(touch.slice_pitch) * (touch.slices ? touch.slices - 1 : 0);
    return size;
  }

 private:
  std::atomic<Address> low_{~Address{0}};
  std::atomic<Address> high_{0};
};

/// All addresses.
struct Everywhere : Bounds {
  Everywhere() { widen(0, ~Address{0}); }
};

}  // namespace cuvmm::shim
