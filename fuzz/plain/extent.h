// SPDX-License-Identifier: Apache-2.0
// Computes sizes: pages, granules, and the extent of rows and slices.
#pragma once

#include <cstdint>

#include "api/sizes.h"

namespace cuvmm::fuzz::plain {

/// The next multiple of `step`.
inline std::uint64_t up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

using Wide = unsigned __int128;

/// The value, or all ones where it is larger than any memory.
inline std::uint64_t narrow(Wide bytes) {
  return bytes >> 62 ? ~0ull : static_cast<std::uint64_t>(bytes);
}

/// The bytes from the first byte to the end of the last row.
inline std::uint64_t extent_of(std::uint64_t width, std::uint64_t height, std::uint64_t pitch,
                               std::uint64_t slices = 1, std::uint64_t slice_pitch = 0) {
  if (width == 0 || height == 0 || slices == 0) return 0;
  return narrow(Wide(width) + Wide(height - 1) * pitch + Wide(slices - 1) * slice_pitch);
}

}  // namespace cuvmm::fuzz::plain
