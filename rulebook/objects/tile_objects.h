// SPDX-License-Identifier: Apache-2.0
// The memory behind a region of a sparse array, as one process knows it.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <utility>

#include "rulebook/base/violation.h"

namespace cuvmm {

struct Tiles {
  CUmemGenericAllocationHandle memory = 0;
  std::uint64_t offset = 0;  ///< in the memory
  std::uint64_t size = 0;    ///< bytes; 0 unknown
  int device = -1;           ///< of the memory; -1 unknown
  std::uint16_t number = 0;  ///< index of its entry in the call's list
  Origin made;
};

/// The array, the kind of region and its numbers.
using TileKey = std::array<std::uint64_t, 10>;
using TileRegion = std::pair<TileKey, Tiles>;

}  // namespace cuvmm
