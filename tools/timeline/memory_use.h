// SPDX-License-Identifier: Apache-2.0
// What the memory of cuMemCreate was used for at a moment of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/timeline/holdings.h"

namespace cuvmm::tools {

/// Bytes of allocations. Each one counts once, in the first that it is. What was made at that very
/// moment, as the last piece of a peak is, counts as what it is used for later.
struct MemoryUse {
  std::uint64_t mapped = 0;  ///< at some address
  std::uint64_t bound = 0;   ///< to a multicast object
  std::uint64_t sparse = 0;  ///< mapped into a sparse array
  std::uint64_t idle = 0;    ///< none of these in its process: handles alone keep it

  std::uint64_t all() const { return mapped + bound + sparse + idle; }
};

/// Of all processes together; nothing where one of them does not know all of its objects.
std::optional<MemoryUse> memory_use_at(const std::vector<ProcessTimeline>& processes,
                                       const MomentOfRun& moment);

}  // namespace cuvmm::tools
