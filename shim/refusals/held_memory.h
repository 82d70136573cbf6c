// SPDX-License-Identifier: Apache-2.0
// The memory that this program holds on a device, when it is refused more: by state, and by maker.
#pragma once

#include <cstdint>
#include <vector>

#include "rulebook/model/model.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// In bytes, of one device. Exact for memory that cuvmm saw being made.
struct HeldMemory {
  std::uint64_t mapped = 0;    ///< by cuMemCreate, and mapped at some address
  std::uint64_t unmapped = 0;  ///< by cuMemCreate, mapped nowhere: only its handle keeps it alive
  std::uint64_t exported = 0;  ///< of both, the memory that descriptors and other processes may
                               ///< keep alive as well
  std::uint64_t pools = 0;     ///< allocated from pools
  std::uint64_t plain = 0;     ///< by cuMemAlloc and similar calls
  std::uint64_t sum() const { return mapped + unmapped + pools + plain; }

  struct Creator {
    StackId stack = 0;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;  ///< of allocations
  };
  std::vector<Creator> creators;  ///< those with the most bytes, the largest first
};

/// At most so many creators are listed.
inline constexpr std::size_t kMostCreators = 4;
/// Sums up the memory of one device; memory that other processes share with this process counts
/// only where it was made.
HeldMemory held_memory(const Model& model, int device);

}  // namespace cuvmm::shim
