// SPDX-License-Identifier: Apache-2.0
// Computes how the memory of cuMemCreate was used at a moment of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/timeline/holdings.h"

namespace cuvmm::tools {

/// Bytes of allocations. Each allocation counts once, in the first member that applies. An
/// allocation made at that very moment, like the last piece of a peak, counts by its later use.
struct MemoryUse {
  std::uint64_t mapped = 0;  ///< at some address
  std::uint64_t bound = 0;   ///< to a multicast object
  std::uint64_t sparse = 0;  ///< mapped into a sparse array
  std::uint64_t idle = 0;    ///< none of these in its process: only handles keep it alive

  std::uint64_t all() const { return mapped + bound + sparse + idle; }
};

/// The sum over all processes; nothing where the timeline of a process lacks some of its objects.
std::optional<MemoryUse> memory_use_at(const std::vector<ProcessTimeline>& processes,
                                       const MomentOfRun& moment);

}  // namespace cuvmm::tools
