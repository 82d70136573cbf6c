// SPDX-License-Identifier: Apache-2.0
// What this program holds of the memory that it is refused: by state, and by who made it.
#pragma once

#include <cstdint>
#include <vector>

#include "rulebook/model/model.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// In bytes, of one device. Exact for what cuvmm saw being made.
struct HeldMemory {
  std::uint64_t mapped = 0;    ///< by cuMemCreate, and mapped somewhere
  std::uint64_t unmapped = 0;  ///< by cuMemCreate, mapped nowhere: its handle keeps it
  std::uint64_t exported = 0;  ///< of both, what descriptors and other processes may keep as well
  std::uint64_t pools = 0;     ///< allocated from pools
  std::uint64_t plain = 0;     ///< by cuMemAlloc and its like
  std::uint64_t sum() const { return mapped + unmapped + pools + plain; }

  struct Creator {
    StackId stack = 0;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;  ///< of allocations
  };
  std::vector<Creator> creators;  ///< those of most bytes, the largest first
};

/// The first kMostCreators of them.
inline constexpr std::size_t kMostCreators = 4;
/// Of one device; what others share with this process counts only at home.
HeldMemory held_memory(const Model& model, int device);

}  // namespace cuvmm::shim
