// Model's part for stream-ordered pools.
#include "spec/pool_state.h"

#include "spec/model.h"

namespace cuvmm {

namespace {
std::uint64_t value(CUmemoryPool pool) { return reinterpret_cast<std::uintptr_t>(pool); }
}  // namespace

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

void PoolState::add(const PoolMemory& taken_memory) {
  remove(taken_memory.base);  // an end that we did not see
  memory[taken_memory.base] = taken_memory;
  ++taken[taken_memory.pool];
}

void PoolState::remove(std::uint64_t base) {
  const auto found = memory.find(base);
  if (found == memory.end()) return;
  const auto count = taken.find(found->second.pool);
  if (count != taken.end() && --count->second == 0) taken.erase(count);
  memory.erase(found);
}

void Model::retire_pool_memory(Address base, Retired& retired) {
  const auto found = pools_.memory.find(base);
  if (found == pools_.memory.end()) return;
  retired.more().pool_memory.push_back(found->second);
  pools_.remove(base);
}

void Model::retire(const calls::MemPoolDestroy& call, Retired& retired) {
  const auto found = pools_.pools.find(value(call.pool));
  if (found == pools_.pools.end()) return;
  retired.more().pools.push_back(found->second);
  pools_.pools.erase(found);
}

void Model::restore_pools(const RarelyRetired& retired) {
  for (const Pool& pool : retired.pools) pools_.pools.try_emplace(pool.handle, pool);
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
  pools_.pools[handle] = {.handle = handle,
                          .location = call.poolProps->location,
                          .handle_types = static_cast<unsigned>(call.poolProps->handleTypes),
                          .imported = false,
                          .exported = false,
                          .made = at};
}

void Model::commit(const calls::MemPoolImportFromShareableHandle& call, Origin at) {
  const std::uint64_t handle = value(*call.pool_out);
  tombstones_.forget(ObjectRef::Kind::kPool, handle);
  pools_.pools[handle] = {.handle = handle,
                          .location = {},
                          .handle_types = 0,
                          .imported = true,
                          .exported = false,
                          .made = at};
}

void Model::commit(const calls::MemPoolExportToShareableHandle& call, Origin) {
  const auto found = pools_.pools.find(value(call.pool));
  if (found != pools_.pools.end()) found->second.exported = true;
  if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    opened(*static_cast<const int*>(call.handle_out));
  }
}

void Model::commit(const calls::MemAllocFromPoolAsync& call, Origin at) {
  if (call.bytesize == 0) return;  // a driver may accept that; there is no memory
  tombstones_.forget(ObjectRef::Kind::kPoolMemory, *call.dptr);
  pools_.add({.base = *call.dptr,
              .size = call.bytesize,
              .pool = value(call.pool),
              .imported = false,
              .made = at});
}

void Model::commit(const calls::MemPoolImportPointer& call, Origin at) {
  tombstones_.forget(ObjectRef::Kind::kPoolMemory, *call.ptr_out);
  pools_.add(
      {.base = *call.ptr_out, .size = 0, .pool = value(call.pool), .imported = true, .made = at});
}

void Model::commit(const calls::DeviceSetMemPool& call, Origin) {
  pools_.current[call.dev] = value(call.pool);
}

}  // namespace cuvmm
