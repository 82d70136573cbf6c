// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/physical_memory.h"

#include <algorithm>

#include "emulator/hostile/hostile_driver.h"

namespace cuvmm::emulator {

Handle PhysicalMemory::next_handle() {
  if (!free_handles_.empty() && !hostile_driver().new_handles) {
    const Handle handle = free_handles_.back();
    free_handles_.pop_back();
    return handle;
  }
  // A handle looks like the pointers that drivers give out, and points to nothing.
  constexpr Handle kBase = 0xe000000000;
  constexpr Handle kStep = 0x100;
  return kBase + ++last_handle_ * kStep;
}

bool PhysicalMemory::drop(Handle handle) {
  const auto found = live_.find(handle);
  if (found == live_.end()) return false;
  stale_[next_stale_++ % kStale] = {handle, found->second.prop()};
  drop_unheld();
  if (found->second.held_elsewhere()) {
    found->second.withdraw();
    if (held_.size() < kMostHeld) held_.push_back(std::move(found->second));
  }
  live_.erase(found);
  free_handles_.push_back(handle);
  return true;
}

void PhysicalMemory::drop_unheld() const {
  std::vector<Physical> still;
  for (Physical& each : held_) {
    if (each.held_elsewhere()) still.push_back(std::move(each));
  }
  held_.swap(still);
}

std::optional<CUmemAllocationProp> PhysicalMemory::stale_prop(Handle handle) const {
  for (std::size_t age = 1; age <= std::min(next_stale_, kStale); ++age) {
    const auto& [stale, prop] = stale_[(next_stale_ - age) % kStale];
    if (stale == handle) return prop;
  }
  return std::nullopt;
}

}  // namespace cuvmm::emulator
