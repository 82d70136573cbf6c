// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/pool_state.h"

#include <algorithm>
#include <iterator>

#include "api/location.h"

namespace cuvmm {

namespace {

using Kind = ObjectRef::Kind;

constexpr std::uint64_t kAnyDevice = ~std::uint64_t{0};

std::uint64_t value(CUmemoryPool pool) { return reinterpret_cast<std::uintptr_t>(pool); }

/// Whether some device may not touch memory at this place.
bool is_bounded(const CUmemLocation& place, const Platform& platform) {
  if (is_host(place)) return true;
  return is_device(place) && platform.device_count != 1;
}

}  // namespace

std::size_t PoolState::taken_from(std::uint64_t pool) const {
  const auto found = taken_.find(pool);
  return found == taken_.end() ? 0 : found->second;
}

std::uint64_t PoolState::current_at(const PoolPlace& place) const {
  if (const auto set = current_.find(place); set != current_.end()) return set->second;
  const auto found = defaults_.find(place);
  return found == defaults_.end() ? 0 : found->second;
}

bool PoolState::serves_a_place(CUmemoryPool pool) const {
  return std::ranges::any_of(current_, [&](const auto& set) { return set.second == value(pool); });
}

std::uint64_t PoolState::current_of(int device) const {
  return current_at(
      pool_place(make_location(kLocationDevice, device), CU_MEM_ALLOCATION_TYPE_PINNED));
}

const Pool* PoolState::find(std::uint64_t handle) const {
  const auto found = pools_.find(handle);
  return found == pools_.end() ? nullptr : &found->second;
}

const PoolMemory* PoolState::memory_at(std::uint64_t address) const {
  auto found = memory_.upper_bound(address);
  if (found == memory_.begin()) return nullptr;
  --found;
  const bool inside = found->first == address || address - found->first < found->second.size;
  return inside ? &found->second : nullptr;
}

const PoolMemory* PoolState::bounded_memory_at(std::uint64_t address) const {
  if (bounded_ == 0) [[likely]]
    return nullptr;
  const PoolMemory* found = memory_at(address);
  return found && found->bounded ? found : nullptr;
}

std::uint64_t PoolState::access_to(const PoolMemory& one) const {
  if (one.access) return *one.access;
  if (const Pool* pool = find(one.pool)) {
    std::uint64_t access = pool->access;
    for (const std::uint64_t further : one.also) {
      if (const Pool* other = find(further)) access |= other->access;
    }
    return access;
  }
  const auto of_default = default_access_.find(device_of(one.location));
  return of_default == default_access_.end() ? 0 : of_default->second;
}

void PoolState::count(const PoolMemory& one, int change) {
  const auto pool = [&](std::uint64_t handle) {
    std::uint32_t& entries = taken_[handle];
    entries += static_cast<std::uint32_t>(change);
    if (entries == 0) taken_.erase(handle);
  };
  pool(one.pool);
  for (const std::uint64_t handle : one.also) pool(handle);
  bounded_ += static_cast<std::size_t>(one.bounded ? change : 0);
}

void PoolState::add(const PoolMemory& taken_memory) {
  PoolMemory added = taken_memory;
  if (const auto before = memory_.find(added.base); before != memory_.end()) {
    // A second import gives the same pointer. In any other case the old memory ended by a route
    // that cuvmm did not see.
    if (added.imported && before->second.imported) {
      const PoolMemory& old = before->second;
      for (const std::uint64_t handle : old.also) added.also.push_back(handle);
      added.also.push_back(old.pool);
      std::erase(added.also, added.pool);
      if (added.location.type == 0) {
        added.location = old.location;
        added.bounded = old.bounded;
      }
    }
    remove(added.base);
  }
  count(added, 1);
  memory_[added.base] = std::move(added);
}

void PoolState::remove(std::uint64_t base) {
  const auto found = memory_.find(base);
  if (found == memory_.end()) return;
  count(found->second, -1);
  memory_.erase(found);
}

bool PoolState::consistent() const {
  if (memory_.size() > 64) return true;  // larger states would make each call slow
  std::size_t bounded = 0, counted = 0, pieces = 0;
  for (const auto& [base, piece] : memory_) {
    if (base != piece.base) return false;
    bounded += piece.bounded;
    pieces += 1 + piece.also.size();
  }
  for (const auto& [pool, count] : taken_) counted += count;
  return bounded == bounded_ && counted == pieces;
}

// --- Before the call goes to the driver

void PoolState::take_memory(std::uint64_t base, const Surroundings& around, Retired& retired) {
  around.ends.note(Kind::kPoolMemory, base);
  const auto found = memory_.find(base);
  if (found == memory_.end()) return;
  retired.more().pool_memory.push_back(found->second);
  remove(base);
}

void PoolState::begin(const calls::MemFree& call, Origin, const Surroundings& around,
                      Retired& retired) {
  take_memory(call.dptr, around, retired);
}

void PoolState::begin(const calls::MemFreeAsync& call, Origin, const Surroundings& around,
                      Retired& retired) {
  take_memory(call.dptr, around, retired);
}

void PoolState::begin(const calls::MemPoolDestroy& call, Origin, const Surroundings& around,
                      Retired& retired) {
  around.ends.note(Kind::kPool, value(call.pool));
  const auto found = pools_.find(value(call.pool));
  if (found == pools_.end()) return;
  retired.more().pools.push_back(found->second);
  // Devices can still use memory that is left of the pool as before.
  for (auto& [base, left] : memory_) {
    if (left.pool == found->first) left.access = found->second.access;
  }
  pools_.erase(found);
}

void PoolState::begin(const Ending& ending, Origin, const Surroundings&, Retired& retired) {
  if (ending.context != 0) return;
  EndedContext& taken = retired.more().context;
  const int device = taken.device = ending.device;
  const auto elsewhere = [&](const CUmemLocation& place) {
    return !ending.any && is_device(place) && device_of(place) != device;
  };
  const auto ends = [&](const Pool& p) { return p.imported && !elsewhere(p.location); };
  move_out(pools_, taken.pools, ends);
  // Nobody knows whether a pool forgets its access settings, so any device counts as allowed.
  for (auto& [handle, pool] : pools_) {
    const bool stays = pool.is_default && pool.access == 0;
    if (stays || elsewhere(pool.location)) continue;
    taken.accesses.emplace_back(handle, pool.access);
    pool.access = kAnyDevice;
  }
  for (const auto& [base, memory] : memory_) {
    if (memory.imported && !elsewhere(memory.location)) taken.pool_memory.push_back(memory);
  }
  for (const PoolMemory& memory : taken.pool_memory) remove(memory.base);
  std::erase_if(current_, [&](const auto& set) {
    const bool there =
        is_device(make_location(set.first.location, 0)) && (set.first.id & 0xff) == device;
    if (there) taken.current_pools.push_back(set);
    return there;
  });
  if (const auto given = default_access_.find(device); given != default_access_.end()) {
    taken.default_access = given->second;
    given->second = kAnyDevice;
  }
}

// --- After the driver accepted the call

void PoolState::confirm(const calls::MemPoolCreate& call, const Facts&, Origin at,
                        const Surroundings& around) {
  const std::uint64_t handle = value(*call.pool);
  around.tombstones.forget(Kind::kPool, handle);
  // Every device can use managed memory: the pool only says where the memory prefers to be.
  const CUmemPoolProps& props = *call.poolProps;
  Pool made;
  made.handle = handle;
  made.managed = props.allocType == kManagedMemory;
  (made.managed ? made.prefers : made.location) = settled(props.location, around.platform);
  made.handle_types = static_cast<unsigned>(props.handleTypes);
  const PoolPropsTail tail = tail_of(props);
  made.usage = tail.usage;
  made.rdma = tail.gpuDirectRDMACapable != 0;
  made.made = at;
  pools_[handle] = made;
}

void PoolState::confirm(const calls::MemPoolImportFromShareableHandle& call, const Facts& facts,
                        Origin at, const Surroundings& around) {
  const std::uint64_t handle = value(*call.pool_out);
  around.tombstones.forget(Kind::kPool, handle);
  Pool imported;
  imported.handle = handle;
  imported.location = facts.pool.location.value_or(CUmemLocation{});
  imported.imported = true;
  imported.made = at;
  pools_[handle] = imported;
}

void PoolState::confirm(const calls::MemPoolSetAccess& call, const Facts& facts, Origin,
                        const Surroundings&) {
  const auto found = pools_.find(value(call.pool));
  const bool of_default = facts.pool.is_default == Facts::Answer::kYes;
  if (found == pools_.end() && !of_default) return;
  auto& access =
      found != pools_.end() ? found->second.access : default_access_[facts.pool.default_device];
  for (std::size_t i = 0; i < call.count; ++i) {
    const CUmemLocation& place = call.map[i].location;
    const int device = device_of(place);
    if (device < 0 || device >= 64) continue;
    const std::uint64_t bit = std::uint64_t{1} << device;
    access = call.map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? access | bit : access & ~bit;
  }
}

void PoolState::confirm(const calls::MemPoolExportToShareableHandle& call, const Facts&, Origin,
                        const Surroundings&) {
  const auto found = pools_.find(value(call.pool));
  if (found != pools_.end()) found->second.exported = true;
}

void PoolState::allocated(std::uint64_t base, std::uint64_t size, std::uint64_t pool,
                          const Facts& facts, Origin at, const Surroundings& around) {
  if (size == 0) return;  // a driver may accept size 0, and makes no memory
  // Each launch of a graph makes and ends the memory.
  if (facts.pool.captured) return around.tombstones.forget(Kind::kPoolMemory, base);
  around.tombstones.reuse(Kind::kPoolMemory, base, size);
  forget_outlived(base, size);
  CUmemLocation place{};
  const Pool* const known = find(pool);
  if (known) {
    place = known->location;
  } else if (facts.pool.is_default == Facts::Answer::kYes &&
             facts.pool.default_device != Facts::kUnknownDevice) {
    place = make_location(kLocationDevice, facts.pool.default_device);
  }
  add({.base = base,
       .size = size,
       .pool = pool,
       .also = {},
       .imported = false,
       .location = place,
       .managed = known && known->managed,
       .rdma = known && known->rdma,
       .bounded = is_bounded(place, around.platform),
       .access = {},
       .made = at});
}

void PoolState::confirm(const calls::MemAllocFromPoolAsync& call, const Facts& facts, Origin at,
                        const Surroundings& around) {
  allocated(*call.dptr, call.bytesize, value(call.pool), facts, at, around);
}

void PoolState::confirm(const calls::MemAllocAsync& call, const Facts& facts, Origin at,
                        const Surroundings& around) {
  // The shim does not ask the driver for the device of each allocation. On a machine with one
  // device it is known.
  const bool single = around.platform.device_count == 1;
  const int device = single ? 0 : facts.place.device;
  const std::uint64_t current = facts.pool.current ? facts.pool.current : current_of(device);
  allocated(*call.dptr, call.bytesize, current, facts, at, around);
}

void PoolState::confirm(const calls::MemPoolImportPointer& call, const Facts& facts, Origin at,
                        const Surroundings& around) {
  around.tombstones.reuse(Kind::kPoolMemory, *call.ptr_out, facts.pool.object_size);
  const auto pool = pools_.find(value(call.pool));
  // The driver's answer about the memory also gives the place of an imported pool.
  if (pool != pools_.end() && facts.pool.location) pool->second.location = *facts.pool.location;
  const CUmemLocation place =
      pool != pools_.end() ? pool->second.location : facts.pool.location.value_or(CUmemLocation{});
  add({.base = *call.ptr_out,
       .size = facts.pool.object_size,
       .pool = value(call.pool),
       .also = {},
       .imported = true,
       .location = place,
       .managed = false,
       .rdma = false,
       .bounded = is_bounded(place, around.platform),
       .access = {},
       .made = at});
}

void PoolState::confirm(const calls::DeviceSetMemPool& call, const Facts&, Origin,
                        const Surroundings&) {
  current_[pool_place(make_location(kLocationDevice, call.dev), CU_MEM_ALLOCATION_TYPE_PINNED)] =
      value(call.pool);
}

void PoolState::note_default(std::uint64_t handle, const CUmemLocation& asked,
                             CUmemAllocationType type, Origin at, const Surroundings& around) {
  around.tombstones.forget(Kind::kPool, handle);
  const CUmemLocation place = settled(asked, around.platform);
  defaults_[pool_place(place, type)] = handle;
  if (const Pool* known = find(handle); known && known->is_default) return;
  Pool made;
  made.handle = handle;
  made.managed = type == kManagedMemory;
  (made.managed ? made.prefers : made.location) = place;
  made.is_default = made.foreign = true;
  const auto given = default_access_.find(device_of(made.location));
  if (given != default_access_.end()) made.access = given->second;
  made.made = at;
  pools_[handle] = made;
}

void PoolState::note_current(std::uint64_t handle, const CUmemLocation& asked,
                             CUmemAllocationType type, const Facts& facts, Origin at,
                             const Surroundings& around) {
  const CUmemLocation place = settled(asked, around.platform);
  if (facts.pool.is_default == Facts::Answer::kYes) note_default(handle, place, type, at, around);
  current_[pool_place(place, type)] = handle;
  if (pools_.contains(handle) || !facts.pool.location || !facts.pool.handle_types) return;
  around.tombstones.forget(Kind::kPool, handle);
  Pool found;
  found.handle = handle;
  found.managed = type == kManagedMemory;
  (found.managed ? found.prefers : found.location) = *facts.pool.location;
  found.handle_types = *facts.pool.handle_types;
  found.foreign = true;
  found.exported = true;  // its maker may have exported it, and given access to any device
  found.access = kAnyDevice;
  found.made = at;
  pools_[handle] = found;
}

void PoolState::confirm(const calls::DeviceGetDefaultMemPool& call, const Facts&, Origin at,
                        const Surroundings& around) {
  note_default(value(*call.pool_out), make_location(kLocationDevice, call.dev),
               CU_MEM_ALLOCATION_TYPE_PINNED, at, around);
}

void PoolState::confirm(const calls::MemGetDefaultMemPool& call, const Facts&, Origin at,
                        const Surroundings& around) {
  note_default(value(*call.pool_out), *call.location, call.type, at, around);
}

void PoolState::confirm(const calls::DeviceGetMemPool& call, const Facts& facts, Origin at,
                        const Surroundings& around) {
  note_current(value(*call.pool), make_location(kLocationDevice, call.dev),
               CU_MEM_ALLOCATION_TYPE_PINNED, facts, at, around);
}

void PoolState::confirm(const calls::MemGetMemPool& call, const Facts& facts, Origin at,
                        const Surroundings& around) {
  note_current(value(*call.pool), *call.location, call.type, facts, at, around);
}

void PoolState::confirm(const calls::MemSetMemPool& call, const Facts&, Origin,
                        const Surroundings& around) {
  current_[pool_place(settled(*call.location, around.platform), call.type)] = value(call.pool);
}

void PoolState::confirm(const calls::MemAlloc& call, const Facts&, Origin, const Surroundings&) {
  forget_outlived(*call.dptr, call.bytesize);
}

void PoolState::confirm(const calls::MemAllocPitch& call, const Facts&, Origin,
                        const Surroundings&) {
  forget_outlived(*call.dptr, *call.pPitch * call.Height);
}

void PoolState::confirm(const calls::MemAllocManaged& call, const Facts&, Origin,
                        const Surroundings&) {
  forget_outlived(*call.dptr, call.bytesize);
}

// A driver that gives out the range again has ended the memory with the context after all.
void PoolState::forget_outlived(std::uint64_t base, std::uint64_t size) {
  if (!any_outlived_) return;
  auto found = memory_.lower_bound(base);
  if (found != memory_.begin() && base - std::prev(found)->first < std::prev(found)->second.size) {
    --found;
  }
  while (found != memory_.end() && (found->first < base || found->first - base < size)) {
    const PoolMemory& one = (found++)->second;
    if (one.outlived.call != 0) remove(one.base);
  }
}

void PoolState::outlive(const EndedContext& ended, Origin at) {
  const auto may_be_there = [&](const CUmemLocation& place) {
    return ended.any || !is_device(place) || device_of(place) == ended.device;
  };
  for (auto& [handle, pool] : pools_) pool.outlived = pool.outlived || may_be_there(pool.location);
  if (ended.any) return;  // perhaps no primary context ended
  for (auto& [base, memory] : memory_) {
    const bool there = is_device(memory.location) && device_of(memory.location) == ended.device;
    if (!there) continue;
    if (memory.outlived.call == 0) memory.outlived = at;
    any_outlived_ = true;
  }
}

void PoolState::confirm(const RarelyRetired& taken, Origin at, const Surroundings& around) {
  for (const Pool& pool : taken.pools) {
    around.tombstones.add({Kind::kPool, pool.handle, 0, pool.made, at});
    // The devices of a destroyed current pool use their default pools again.
    std::erase_if(current_, [&](const auto& set) { return set.second == pool.handle; });
  }
  for (const PoolMemory& memory : taken.pool_memory) {
    around.tombstones.add({Kind::kPoolMemory, memory.base, memory.size, memory.made, at});
  }
  const bool ends_primary = taken.context.device >= 0;
  if (ends_primary || taken.context.any) outlive(taken.context, at);
  if (!ends_primary || around.platform.device_count != 1) return;
  // The memory's device is unknown, and there is only one.
  for (auto& [base, memory] : memory_) {
    const bool known = is_device(memory.location) || memory.on_host();
    if (known || memory.outlived.call != 0) continue;
    memory.outlived = at;
    any_outlived_ = true;
  }
}

// --- After the driver refused the call

void PoolState::undo(const RarelyRetired& taken, Origin, const Surroundings& around) {
  for (const Pool& pool : taken.pools) {
    pools_.try_emplace(pool.handle, pool);
    for (auto& [base, left] : memory_) {
      if (left.pool == pool.handle) left.access.reset();
    }
  }
  for (const PoolMemory& memory : taken.pool_memory) {
    if (!memory_.contains(memory.base)) add(memory);
  }
  restore(taken.context, around.ends);
}

void PoolState::restore(const EndedContext& taken, const EndsMeanwhile& ends) {
  for (const Pool& pool : taken.pools) {
    if (!ends.contains(Kind::kPool, pool.handle)) pools_.try_emplace(pool.handle, pool);
  }
  for (const PoolMemory& memory : taken.pool_memory) {
    const bool ended = ends.contains(Kind::kPoolMemory, memory.base);
    if (!ended && !memory_.contains(memory.base)) add(memory);
  }
  for (const auto& [place, pool] : taken.current_pools) current_.try_emplace(place, pool);
  // Another thread may have set the access meanwhile: that stays.
  for (const auto& [handle, access] : taken.accesses) {
    const auto pool = pools_.find(handle);
    if (pool != pools_.end() && pool->second.access == kAnyDevice) pool->second.access = access;
  }
  if (!taken.default_access) return;
  std::uint64_t& given = default_access_[taken.device];
  if (given == kAnyDevice) given = *taken.default_access;
}

}  // namespace cuvmm
