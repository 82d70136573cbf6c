// SPDX-License-Identifier: Apache-2.0
// The model's part for contexts that end.
//
// What is known: memory of cuMemCreate, addresses and their mappings outlive every context (asked
// of an H200 for a reset; documented for cuCtxDestroy, and there for memory of pools, too).
// External memory and semaphores end with their context (documented). Nothing is said of memory
// opened by legacy IPC, nor of what a reset of the primary context does to its device's pools.
// Whatever may have ended is taken out: unknown from then on, which is never wrong.
#include <algorithm>

#include "rulebook/model/model.h"

namespace cuvmm {

namespace {

using Kind = ObjectRef::Kind;

/// Moves what `ends` says of out of the table.
template <class Table, class Object, class Ends>
void move_out(Table& table, std::vector<Object>& taken, Ends ends) {
  for (auto it = table.begin(); it != table.end();) {
    if (!ends(it->second)) {
      ++it;
      continue;
    }
    taken.push_back(it->second);
    it = table.erase(it);
  }
}

constexpr std::uint64_t kAnyDevice = ~std::uint64_t{0};

}  // namespace

/// One context by its handle, or all that may be a device's primary one.
struct Model::Ending {
  std::uint64_t context = 0;
  int device = -1;

  /// Whether an object ends: of the context `in`, 0 unknown, on the device `on`, -1 unknown.
  bool ends(std::uint64_t in, int on) const {
    if (context != 0) return in == 0 || in == context;
    return on < 0 || on == device;
  }
};

void Model::retire(const calls::CtxDestroy& call, Retired& retired) {
  retire(Ending{.context = reinterpret_cast<std::uintptr_t>(call.ctx), .device = -1}, retired);
}
void Model::retire(const calls::DevicePrimaryCtxRelease& call, Retired& retired) {
  retire(Ending{.context = 0, .device = call.dev}, retired);
}
void Model::retire(const calls::DevicePrimaryCtxReset& call, Retired& retired) {
  retire(Ending{.context = 0, .device = call.dev}, retired);
}

void Model::retire(const Ending& ending, Retired& retired) {
  if (ending.context == 0 && ending.device < 0) return;  // a driver refuses that
  EndedContext& taken = retired.more().context;
  taken.ending = true;
  ends_meanwhile_.begin();
  // Of which context the memory behind an exported handle is, was not asked.
  move_out(ipc_.exports, taken.ipc_exports, [](const IpcExport&) { return true; });
  move_out(ipc_.opens, taken.ipc_opens,
           [&](const IpcOpen& o) { return ending.ends(o.context, o.device); });
  move_out(external_.memories, taken.memories,
           [&](const ExternalMemory& m) { return ending.ends(m.context, m.device); });
  move_out(external_.buffers, taken.buffers,
           [&](const ExternalBuffer& b) { return ending.ends(b.context, b.device); });
  move_out(external_.semaphores, taken.semaphores,
           [&](const ExternalSemaphore& s) { return ending.ends(s.context, s.device); });
  if (ending.context == 0) retire_pools(ending.device, taken);
}

void Model::retire_pools(int device, EndedContext& taken) {
  taken.device = device;
  const auto elsewhere = [&](const CUmemLocation& place) {
    return place.type == CU_MEM_LOCATION_TYPE_DEVICE && place.id != device;
  };
  move_out(pools_.pools, taken.pools, [&](const Pool& p) { return !elsewhere(p.location); });
  for (const auto& [base, memory] : pools_.memory) {
    if (!elsewhere(memory.location)) taken.pool_memory.push_back(memory);
  }
  for (const PoolMemory& memory : taken.pool_memory) pools_.remove(memory.base);
  if (const auto set = pools_.current.find(device); set != pools_.current.end()) {
    taken.current_pool = set->second;
    pools_.current.erase(set);
  }
  // Whether the default pool forgets who was given access is not known: nobody is called wrong.
  if (const auto given = pools_.default_access.find(device); given != pools_.default_access.end()) {
    taken.default_access = given->second;
    given->second = kAnyDevice;
  }
}

void Model::restore(const EndedContext& taken) {
  const auto lives = [&](Kind kind, std::uint64_t value) {
    return !ends_meanwhile_.contains(kind, value);
  };
  for (const IpcExport& e : taken.ipc_exports) {
    if (lives(Kind::kPoolMemory, e.base)) ipc_.exports.try_emplace(e.base, e);
  }
  for (const IpcOpen& before : taken.ipc_opens) {
    if (!lives(Kind::kIpcMemory, before.pointer)) continue;
    const auto [it, inserted] = ipc_.opens.try_emplace(before.pointer, before);
    if (inserted || it->second.bytes != before.bytes) continue;
    // It was opened once more meanwhile.
    it->second.count += before.count;
    it->second.opens += before.opens;
    it->second.reopened = it->second.made;
    it->second.made = before.made;
  }
  for (const ExternalMemory& m : taken.memories) {
    if (lives(Kind::kExternalMemory, m.handle)) external_.memories.try_emplace(m.handle, m);
  }
  for (const ExternalBuffer& b : taken.buffers) {
    if (lives(Kind::kPoolMemory, b.base)) external_.buffers.try_emplace(b.base, b);
  }
  for (const ExternalSemaphore& s : taken.semaphores) {
    if (lives(Kind::kExternalSemaphore, s.handle)) external_.semaphores.try_emplace(s.handle, s);
  }
  restore_pools(taken);
  ends_meanwhile_.end();
}

void Model::restore_pools(const EndedContext& taken) {
  for (const Pool& pool : taken.pools) {
    if (!ends_meanwhile_.contains(Kind::kPool, pool.handle)) {
      pools_.pools.try_emplace(pool.handle, pool);
    }
  }
  for (const PoolMemory& memory : taken.pool_memory) {
    const bool ended = ends_meanwhile_.contains(Kind::kPoolMemory, memory.base);
    if (!ended && !pools_.memory.contains(memory.base)) pools_.add(memory);
  }
  if (taken.current_pool) pools_.current.try_emplace(taken.device, *taken.current_pool);
  if (!taken.default_access) return;
  std::uint64_t& given = pools_.default_access[taken.device];
  if (given == kAnyDevice) given = *taken.default_access;
}

}  // namespace cuvmm
