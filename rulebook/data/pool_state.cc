// SPDX-License-Identifier: Apache-2.0
// Model's part for stream-ordered pools.
#include "rulebook/data/pool_state.h"

#include "rulebook/model/model.h"
#include "rulebook/vmm/check_prop.h"

namespace cuvmm {

namespace {
std::uint64_t value(CUmemoryPool pool) { return reinterpret_cast<std::uintptr_t>(pool); }
}  // namespace

bool Pool::on_host() const { return detail::is_host(location); }
bool PoolMemory::on_host() const { return detail::is_host(location); }

const Pool* PoolState::find(std::uint64_t handle) const {
  const auto found = pools.find(handle);
  return found == pools.end() ? nullptr : &found->second;
}

const PoolMemory* PoolState::memory_at(std::uint64_t address) const {
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) return nullptr;
  --found;
  const bool inside = found->first == address || address - found->first < found->second.size;
  return inside ? &found->second : nullptr;
}

const PoolMemory* PoolState::bounded_memory_at(std::uint64_t address) const {
  if (bounded == 0) [[likely]]
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
  const auto of_default = default_access.find(one.location.id);
  return of_default == default_access.end() ? 0 : of_default->second;
}

void PoolState::count(const PoolMemory& one, int change) {
  const auto pool = [&](std::uint64_t handle) {
    std::uint32_t& entries = taken[handle];
    entries += static_cast<std::uint32_t>(change);
    if (entries == 0) taken.erase(handle);
  };
  pool(one.pool);
  for (const std::uint64_t handle : one.also) pool(handle);
  bounded += static_cast<std::size_t>(one.bounded ? change : 0);
}

void PoolState::add(const PoolMemory& taken_memory) {
  PoolMemory added = taken_memory;
  if (const auto before = memory.find(added.base); before != memory.end()) {
    // Imported again it is the same pointer; else its end is one that we did not see.
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
  memory[added.base] = std::move(added);
}

void PoolState::remove(std::uint64_t base) {
  const auto found = memory.find(base);
  if (found == memory.end()) return;
  count(found->second, -1);
  memory.erase(found);
}

void Model::retire_pool_memory(Address base, Retired& retired) {
  const auto found = pools_.memory.find(base);
  if (found == pools_.memory.end()) return;
  retired.more().pool_memory.push_back(found->second);
  pools_.remove(base);
}

void Model::retire(const calls::MemPoolDestroy& call, Retired& retired) {
  ends_meanwhile_.note(ObjectRef::Kind::kPool, value(call.pool));
  const auto found = pools_.pools.find(value(call.pool));
  if (found == pools_.pools.end()) return;
  retired.more().pools.push_back(found->second);
  // What devices may do with memory that is left stays as it was.
  for (auto& [base, left] : pools_.memory) {
    if (left.pool == found->first) left.access = found->second.access;
  }
  pools_.pools.erase(found);
}

void Model::restore_pools(const RarelyRetired& retired) {
  for (const Pool& pool : retired.pools) {
    pools_.pools.try_emplace(pool.handle, pool);
    for (auto& [base, left] : pools_.memory) {
      if (left.pool == pool.handle) left.access.reset();
    }
  }
  for (const PoolMemory& memory : retired.pool_memory) {
    if (!pools_.memory.contains(memory.base)) pools_.add(memory);
  }
}

void Model::bury_pools(const RarelyRetired& retired, Origin at) {
  for (const Pool& pool : retired.pools) {
    tombstones_.add({ObjectRef::Kind::kPool, pool.handle, 0, pool.made, at});
    // Its devices go back to their default pools.
    std::erase_if(pools_.current, [&](const auto& set) { return set.second == pool.handle; });
  }
  for (const PoolMemory& memory : retired.pool_memory) {
    tombstones_.add({ObjectRef::Kind::kPoolMemory, memory.base, memory.size, memory.made, at});
  }
}

void Model::commit(const calls::MemPoolCreate& call, Origin at) {
  const std::uint64_t handle = value(*call.pool);
  tombstones_.forget(ObjectRef::Kind::kPool, handle);
  // Managed memory is everyone's: the pool says only where it prefers to be.
  const bool pinned = call.poolProps->allocType == CU_MEM_ALLOCATION_TYPE_PINNED;
  pools_.pools[handle] = {.handle = handle,
                          .location = pinned ? call.poolProps->location : CUmemLocation{},
                          .handle_types = static_cast<unsigned>(call.poolProps->handleTypes),
                          .imported = false,
                          .exported = false,
                          .access = 0,
                          .made = at};
}

void Model::commit(const calls::MemPoolImportFromShareableHandle& call, const Facts& facts,
                   Origin at) {
  const std::uint64_t handle = value(*call.pool_out);
  tombstones_.forget(ObjectRef::Kind::kPool, handle);
  pools_.pools[handle] = {.handle = handle,
                          .location = facts.location.value_or(CUmemLocation{}),
                          .handle_types = 0,
                          .imported = true,
                          .exported = false,
                          .access = 0,
                          .made = at};
}

void Model::commit(const calls::MemPoolSetAccess& call, const Facts& facts, Origin) {
  const auto found = pools_.pools.find(value(call.pool));
  const bool of_default = facts.default_pool == Facts::Answer::kYes;
  if (found == pools_.pools.end() && !of_default) return;
  auto& access = found != pools_.pools.end() ? found->second.access
                                             : pools_.default_access[facts.default_pool_device];
  for (std::size_t i = 0; i < call.count; ++i) {
    const CUmemLocation& place = call.map[i].location;
    if (place.type != CU_MEM_LOCATION_TYPE_DEVICE || place.id < 0 || place.id >= 64) continue;
    const std::uint64_t bit = std::uint64_t{1} << place.id;
    access = call.map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? access | bit : access & ~bit;
  }
}

void Model::commit(const calls::MemPoolExportToShareableHandle& call, Origin) {
  const auto found = pools_.pools.find(value(call.pool));
  if (found != pools_.pools.end()) found->second.exported = true;
  if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    opened(*static_cast<const int*>(call.handle_out));
  }
}

bool Model::bounded(const CUmemLocation& place) const {
  if (detail::is_host(place)) return true;
  return place.type == CU_MEM_LOCATION_TYPE_DEVICE && platform_.device_count != 1;
}

void Model::commit(const calls::MemAllocFromPoolAsync& call, const Facts& facts, Origin at) {
  if (call.bytesize == 0) return;  // a driver may accept that; there is no memory
  tombstones_.forget(ObjectRef::Kind::kPoolMemory, *call.dptr);
  CUmemLocation place{};
  if (const Pool* pool = pools_.find(call.pool)) {
    place = pool->location;
  } else if (facts.default_pool == Facts::Answer::kYes &&
             facts.default_pool_device != Facts::kUnknownDevice) {
    place.type = CU_MEM_LOCATION_TYPE_DEVICE;
    place.id = facts.default_pool_device;
  }
  pools_.add({.base = *call.dptr,
              .size = call.bytesize,
              .pool = value(call.pool),
              .also = {},
              .imported = false,
              .location = place,
              .bounded = bounded(place),
              .access = {},
              .made = at});
}

void Model::commit(const calls::MemPoolImportPointer& call, const Facts& facts, Origin at) {
  tombstones_.forget(ObjectRef::Kind::kPoolMemory, *call.ptr_out);
  const auto pool = pools_.pools.find(value(call.pool));
  // What the memory shows of a pool that was imported.
  if (pool != pools_.pools.end() && facts.location) pool->second.location = *facts.location;
  const CUmemLocation place =
      pool != pools_.pools.end() ? pool->second.location : facts.location.value_or(CUmemLocation{});
  pools_.add({.base = *call.ptr_out,
              .size = facts.object_size,
              .pool = value(call.pool),
              .also = {},
              .imported = true,
              .location = place,
              .bounded = bounded(place),
              .access = {},
              .made = at});
}

void Model::commit(const calls::DeviceSetMemPool& call, Origin) {
  pools_.current[call.dev] = value(call.pool);
}

}  // namespace cuvmm
