// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/memory_use.h"

#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace cuvmm::tools {

namespace {

using O = timeline::Object;

void add_use(MemoryUse& use, const ProcessTimeline& timeline, std::int64_t ns) {
  // At one moment a handle stands for one allocation.
  std::unordered_map<std::uint64_t, std::int64_t>
      fresh;  // allocations made at this moment, until their end
  for (const Life& life : timeline.lives) {
    if (life.kind != O::kAllocation || life.begin_ns != ns) continue;
    fresh[life.value] = life.alive() ? std::numeric_limits<std::int64_t>::max() : life.end_ns;
  }
  const auto counts = [&](const Life& life) {
    if (life.lives_at(ns)) return true;
    const auto found = fresh.find(life.handle);
    return found != fresh.end() && life.begin_ns >= ns && life.begin_ns <= found->second;
  };
  std::unordered_set<std::uint64_t> mapped, bound, sparse;
  for (const Life& life : timeline.lives) {
    if (!counts(life)) continue;
    if (life.kind == O::kMapping) mapped.insert(life.handle);
    if (life.kind == O::kBinding) bound.insert(life.handle);
    if (life.kind == O::kSparse) sparse.insert(life.handle);
  }
  for (const Life& life : timeline.lives) {
    if (life.kind != O::kAllocation || !life.lives_at(ns)) continue;
    std::uint64_t& part = mapped.contains(life.value)   ? use.mapped
                          : bound.contains(life.value)  ? use.bound
                          : sparse.contains(life.value) ? use.sparse
                                                        : use.idle;
    part += life.size;
  }
}

}  // namespace

std::optional<MemoryUse> memory_use_at(const std::vector<ProcessTimeline>& processes,
                                       const MomentOfRun& moment) {
  MemoryUse use;
  for (const ProcessTimeline& timeline : processes) {
    // A missing life may be the mapping of an allocation that the report has.
    if (timeline.dropped > 0 || timeline.left_out > 0) return std::nullopt;
    add_use(use, timeline, moment_in(timeline, processes.front(), moment));
  }
  return use;
}

}  // namespace cuvmm::tools
