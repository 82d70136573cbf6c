// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/watched_memory.h"

#include <algorithm>
#include <iterator>

namespace cuvmm::shim {

void WatchedMemory::add(std::uint64_t object, const Watched& memory, bool again) {
  const Locked lock(mutex_);
  const auto [first, end] = objects_.equal_range(object);
  for (auto it = first; it != end; ++it) {
    if (it->second.memory.base != memory.memory.base) continue;
    if (!again) it->second = memory;
    return;
  }
  objects_.emplace(object, memory);
}

std::vector<Watched> WatchedMemory::of(std::uint64_t object) {
  const Locked lock(mutex_);
  std::vector<Watched> memory;
  const auto [first, end] = objects_.equal_range(object);
  for (auto it = first; it != end; ++it) memory.push_back(it->second);
  return memory;
}

void WatchedMemory::remove(std::uint64_t object, std::uint64_t ended_by) {
  const Locked lock(mutex_);
  auto [at, end] = objects_.equal_range(object);
  while (at != end) at = at->second.since <= ended_by ? objects_.erase(at) : std::next(at);
}

bool WatchedMemory::holds_pool(std::uint64_t address) {
  const Locked lock(mutex_);
  const auto [first, end] = objects_.equal_range(address);
  return std::any_of(first, end, [](const auto& each) { return each.second.of_pool; });
}

bool WatchedMemory::free_elsewhere(Address base) {
  const Locked lock(mutex_);
  freed_elsewhere_.insert(base);
  const auto [first, end] = objects_.equal_range(base);
  if (std::any_of(first, end, [](const auto& each) { return each.second.of_pool; })) return false;
  objects_.erase(base);
  return true;
}

bool WatchedMemory::freed_elsewhere(Address base) {
  const Locked lock(mutex_);
  return freed_elsewhere_.contains(base);
}

void WatchedMemory::note_left_behind() {
  const Locked lock(mutex_);
  left_behind_ = true;
}

UsedRange WatchedMemory::ends_at(Address end) {
  const Locked lock(mutex_);
  if (!left_behind_) return {};
  const auto found = std::find_if(objects_.begin(), objects_.end(), [&](const auto& each) {
    return each.second.memory.base + each.second.memory.size == end;
  });
  return found != objects_.end() ? found->second.memory : UsedRange{};
}

bool WatchedMemory::begins_behind(Address address, Size distance) {
  const Locked lock(mutex_);
  return left_behind_ && std::any_of(objects_.begin(), objects_.end(), [&](const auto& each) {
           return each.second.memory.base - address < distance;
         });
}

void WatchedMemory::restart(bool whole) {
  empty(whole, objects_, freed_elsewhere_);
  left_behind_ = false;
}

}  // namespace cuvmm::shim
