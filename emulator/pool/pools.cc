// SPDX-License-Identifier: Apache-2.0
#include "emulator/pool/pools.h"

#include <algorithm>

#include "api/location.h"

namespace cuvmm::emulator {

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;  // what an H200's pool takes at a time

// How many chunks hold so many bytes; at most what a number of bytes can say.
std::uint64_t chunks(std::uint64_t bytes) {
  return std::min(bytes / kChunk + (bytes % kChunk != 0), ~std::uint64_t{0} / kChunk);
}

}  // namespace

void Pools::open(int devices) {
  for (int device = 0; device < devices; ++device) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    Pool& pool = create(prop);
    pool.is_default = true;
    defaults_.push_back(pool.handle);
    current_.push_back(pool.handle);
  }
}

Pool& Pools::create(const CUmemAllocationProp& prop) {
  constexpr std::uint64_t kStep = 0x100;
  next_ += kStep;  // never given out twice: a stale handle stays stale
  Pool& pool = pools_[next_];
  pool.handle = next_;
  pool.prop = prop;
  return pool;
}

std::optional<Pools::Place> Pools::place_of(const CUmemLocation& location,
                                            CUmemAllocationType memory) const {
  constexpr int kMostNodes = 64;
  const int type = static_cast<int>(location.type), id = location.id;
  const bool managed = static_cast<int>(memory) == Pool::kManaged;
  if (!managed && memory != CU_MEM_ALLOCATION_TYPE_PINNED) return std::nullopt;
  bool exists = false;
  if (type == CU_MEM_LOCATION_TYPE_DEVICE) {
    exists = id >= 0 && static_cast<std::size_t>(id) < defaults_.size();
  } else if (type == kLocationHostNuma) {
    exists = id >= 0 && id < kMostNodes && (numa_nodes >> id & 1);
  } else if (type == kLocationHost || (managed && type == 0)) {
    return Place{memory, type, 0};  // its id says nothing
  }
  return exists ? std::optional<Place>({memory, type, id}) : std::nullopt;
}

Pool* Pools::default_at(const CUmemLocation& location, CUmemAllocationType type) {
  const auto place = place_of(location, type);
  if (!place) return nullptr;
  const bool pinned = type == CU_MEM_ALLOCATION_TYPE_PINNED;
  if (pinned && location.type == CU_MEM_LOCATION_TYPE_DEVICE) return &default_of(location.id);
  const auto [at, added] = other_defaults_.try_emplace(*place, 0);
  if (added) {
    CUmemAllocationProp prop{};
    prop.type = type;
    prop.location.type = location.type;
    prop.location.id = std::get<2>(*place);
    Pool& pool = create(prop);
    pool.is_default = true;
    at->second = pool.handle;
  }
  return &pools_.at(at->second);
}

Pool* Pools::current_at(const CUmemLocation& location, CUmemAllocationType type) {
  const auto place = place_of(location, type);
  if (!place) return nullptr;
  const bool pinned = type == CU_MEM_ALLOCATION_TYPE_PINNED;
  if (pinned && location.type == CU_MEM_LOCATION_TYPE_DEVICE) return &current_of(location.id);
  const auto set = other_current_.find(*place);
  return set == other_current_.end() ? default_at(location, type) : &pools_.at(set->second);
}

void Pools::set_current_at(const CUmemLocation& location, const Pool& pool) {
  if (!pool.managed() && location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    return set_current(location.id, pool);
  }
  if (const auto place = place_of(location, pool.prop.type)) other_current_[*place] = pool.handle;
}

bool Pools::reaches(std::uint64_t handle, int device) const {
  const auto found = pools_.find(handle);
  if (found == pools_.end() || found->second.managed()) return true;
  const auto set = found->second.access.find(device);
  return set != found->second.access.end() && set->second != 0;
}

Pool* Pools::find(CUmemoryPool pool) {
  const auto found = pools_.find(reinterpret_cast<std::uintptr_t>(pool));
  return found == pools_.end() || found->second.destroyed ? nullptr : &found->second;
}

void Pools::destroy(Pool& pool) {
  for (std::size_t device = 0; device < current_.size(); ++device) {
    if (current_[device] == pool.handle) current_[device] = defaults_[device];
  }
  std::erase_if(other_current_, [&](const auto& entry) { return entry.second == pool.handle; });
  pool.destroyed = true;
  const CUmemLocation& place = pool.prop.location;
  if (place.type == CU_MEM_LOCATION_TYPE_DEVICE && !pool.managed()) gone_[pool.handle] = place.id;
  drop_if_done(pool.handle);
}

bool Pools::lay_on(CUmemoryPool pool, int device) const {
  const auto found = gone_.find(reinterpret_cast<std::uintptr_t>(pool));
  return found != gone_.end() && found->second == device;
}

void Pools::took(std::uint64_t handle, std::uint64_t bytes) {
  const auto found = pools_.find(handle);
  if (found == pools_.end()) return;
  Pool& pool = found->second;
  pool.live += bytes;
  pool.used += bytes;
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved = std::max(pool.reserved, chunks(pool.live) * kChunk);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

void Pools::freed(std::uint64_t handle, std::uint64_t bytes, bool by_pool) {
  const auto found = pools_.find(handle);
  if (found == pools_.end()) return;
  Pool& pool = found->second;
  pool.live -= std::min(pool.live, bytes);
  if (by_pool) pool.used -= std::min(pool.used, bytes);
  // Memory above the threshold goes: of a chunk that lies across it, all (measured). A trim keeps
  // it.
  trim(pool, pool.release_threshold / kChunk * kChunk);
  drop_if_done(handle);
}

void Pools::trim(Pool& pool, std::uint64_t keep) {
  // What is too large to be rounded up is none (measured).
  if (keep > UINT64_MAX - (kChunk - 1)) keep = 0;
  const std::uint64_t needed = std::max(chunks(pool.live), chunks(keep)) * kChunk;
  pool.reserved = std::min(pool.reserved, needed);
}

bool Pools::fits(const Pool& pool, std::uint64_t bytes) {
  if (pool.max_size == 0) return true;
  const std::uint64_t most = chunks(pool.max_size), held = chunks(pool.live);
  return chunks(bytes) <= most && chunks(pool.live + bytes) <= std::max(most, held);
}

void Pools::drop_if_done(std::uint64_t handle) {
  const auto found = pools_.find(handle);
  if (found->second.destroyed && found->second.live == 0) pools_.erase(found);
}

}  // namespace cuvmm::emulator
