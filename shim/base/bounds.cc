// SPDX-License-Identifier: Apache-2.0
#include "shim/base/bounds.h"

namespace cuvmm::shim {

bool Bounds::near(const Touch* touches, std::size_t count) const {
  const Address low = low_.load(std::memory_order_acquire);
  const Address high = high_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const Touch& touch = touches[i];
    if (touch.base >= high) continue;
    // The last byte, or the end of memory if the sum would wrap: then the range is near for sure.
    unsigned __int128 size = touch.width;
    size += static_cast<unsigned __int128>(touch.pitch) * (touch.rows ? touch.rows - 1 : 0);
    size +=
        static_cast<unsigned __int128>(touch.slice_pitch) * (touch.slices ? touch.slices - 1 : 0);
    if (touch.base + size > low) return true;
  }
  return false;
}

}  // namespace cuvmm::shim
