// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of stream-ordered pools: rulebook/rules/pool.def, line by line.
#include <algorithm>
#include <cstring>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

std::uint64_t number(CUmemoryPool pool) { return reinterpret_cast<std::uint64_t>(pool); }

}  // namespace

const PoolState::Pool* Reference::judge_pool(Judgement& out, CUmemoryPool value, Rule valid,
                                             Rule alive) const {
  const int index = value ? pool_state_.find(number(value)) : -1;
  if (index < 0) {
    out.add(valid);
    return nullptr;
  }
  const auto& pool = pool_state_.pools[static_cast<std::size_t>(index)];
  if (!pool.live) out.add(alive);
  return pool.live ? &pool : nullptr;
}

Judgement Reference::judge(const calls::MemPoolCreate& call, Actor) const {
  Judgement out;
  if (!call.pool) out.add(Rule::kPoolCreateOutNonnull);
  if (!call.poolProps) {
    out.add(Rule::kPoolCreatePropsNonnull);
    return out;
  }
  const CUmemPoolProps& props = *call.poolProps;
  const int type = static_cast<int>(props.location.type);
  const auto types = static_cast<unsigned>(props.handleTypes);
  if (static_cast<int>(props.allocType) != 1) out.add(Rule::kPoolCreateType);
  if (type == 1) {
    if (!valid_device(props.location.id)) out.add(Rule::kPoolCreateLocationDevice);
  } else if (type == 2) {
    if (types) out.add(Rule::kPoolCreateHostHandleTypes);
  } else if (type == 3) {
    if (props.location.id != 0) out.add(Rule::kPoolCreateLocationNode);  // there is one
  } else {
    out.add(Rule::kPoolCreateLocationType);
  }
  if (types & ~9u) out.add(Rule::kPoolCreateHandleTypes);
  if ((types & 8) && !machine_.fabric_channel) out.add(Rule::kPoolCreateFabric);
  if ((types & 8) && type == 3 && !machine_.host_multinode) out.add(Rule::kPoolCreateMultinode);
  if (props.win32SecurityAttributes && !(types & 2)) out.add(Rule::kPoolCreateWin32);
  // By bytes, because older headers have no names for some fields. CUDA 13.4 uses one byte more.
  unsigned char bytes[sizeof props];
  std::memcpy(bytes, &props, sizeof bytes);
  if ((bytes[32] & ~2) || bytes[33]) out.add(Rule::kPoolCreateUsage);
  if (std::any_of(bytes + 34, bytes + sizeof bytes, [](unsigned char byte) { return byte != 0; })) {
    out.add(Rule::kPoolCreateReserved);
  }
  return out;
}

const char* Reference::accept(const calls::MemPoolCreate& call) {
  const CUmemPoolProps& props = *call.poolProps;
  const int other = pool_state_.find(number(*call.pool));
  const bool used = other >= 0 && pool_state_.pools[static_cast<std::size_t>(other)].live;
  pool_state_.pools.push_back({number(*call.pool), static_cast<int>(props.location.type),
                               props.location.id, static_cast<unsigned>(props.handleTypes), -1});
  pool_state_.pools.back().values = {1, 1, 1, 0};  // as the attributes' documentation says
  return used ? "the pool is one in use" : *call.pool ? nullptr : "the pool is NULL";
}

const char* Reference::accept(const calls::DeviceGetDefaultMemPool& call) {
  const int known = pool_state_.find(number(*call.pool_out));
  if (known >= 0) return nullptr;
  pool_state_.pools.push_back({number(*call.pool_out), 1, call.dev, 0, -1, true, true});
  return nullptr;
}

Judgement Reference::judge(const calls::DeviceGetDefaultMemPool& call, Actor) const {
  Judgement out;
  out.loose = !valid_device(call.dev);  // no rule covers it
  return out;
}

Judgement Reference::judge(const calls::MemPoolDestroy& call, Actor) const {
  Judgement out;
  const auto* pool =
      judge_pool(out, call.pool, Rule::kPoolDestroyPoolValid, Rule::kPoolDestroyPoolAlive);
  if (pool && pool->is_default) out.add(Rule::kPoolDestroyDefault);
  if (pool && pool->source >= 0) {
    for (const PlainMemory& memory : plain_.all()) {
      if (!memory.live || memory.kind != PlainMemory::Kind::kTaken) continue;
      if (memory.vague) {
        out.loose = true;  // the owner is unknown
        continue;
      }
      // Any import of the same pool holds it.
      const auto& owner = pool_state_.pools[static_cast<std::size_t>(memory.owner)];
      const bool held = owner.source == pool->source;
      if (held && !out.breaks(Rule::kPoolDestroyImported)) out.add(Rule::kPoolDestroyImported);
    }
  }
  // A later free of the memory damages driver 580.159.04: fuzz/README.md.
  const int index = pool_state_.find(number(call.pool));
  for (const PlainMemory& memory : plain_.all()) {
    const bool taken = memory.live && memory.kind == PlainMemory::Kind::kPool;
    out.fatal = out.fatal || (taken && memory.owner == index);
  }
  return out;
}

const char* Reference::accept(const calls::MemPoolDestroy& call) {
  const int index = pool_state_.find(number(call.pool));
  if (index < 0) return "a pool that nothing made was destroyed";
  pool_state_.pools[static_cast<std::size_t>(index)].live = false;
  return nullptr;
}

Judgement Reference::judge(const calls::MemAllocFromPoolAsync& call, Actor actor) const {
  Judgement out;
  if (!call.dptr) out.add(Rule::kPoolAllocOutNonnull);
  if (call.bytesize == 0) out.add(Rule::kPoolAllocSize);
  const auto* pool =
      judge_pool(out, call.pool, Rule::kPoolAllocPoolValid, Rule::kPoolAllocPoolAlive);
  if (pool && pool->source >= 0) out.add(Rule::kPoolAllocImported);
  if (actor.device < 0) out.add(Rule::kPoolAllocContext);
  out.may_run_out = true;
  return out;
}

int Reference::fresh_memory(std::uint64_t size, int type, int id) {
  CUmemAllocationProp prop{};
  prop.location.type = static_cast<CUmemLocationType>(type);
  prop.location.id = id;
  memories_.push_back({size, prop, {}});
  return static_cast<int>(memories_.size()) - 1;
}

const char* Reference::accept(const calls::MemAllocFromPoolAsync& call) {
  if (call.bytesize == 0) return nullptr;
  const int index = pool_state_.find(number(call.pool));
  if (index < 0) return "memory of no pool";
  const auto& pool = pool_state_.pools[static_cast<std::size_t>(index)];
  return place({.base = *call.dptr,
                .size = call.bytesize,
                .kind = PlainMemory::Kind::kPool,
                .memory = fresh_memory(call.bytesize, pool.location_type, pool.location),
                .owner = index});
}

Judgement Reference::judge(const calls::MemFreeAsync& call, Actor actor) const {
  Judgement out;
  const PlainMemory* plain = call.dptr ? plain_.live_base(call.dptr) : nullptr;
  // No document covers memory that came by another route, or calls without a context.
  const bool other = plain && (plain->kind == PlainMemory::Kind::kExternal ||
                               plain->kind == PlainMemory::Kind::kOpened || open_elsewhere(*plain));
  out.loose = call.dptr == 0 || ambiguous(call.dptr) || other || actor.device < 0;
  if (call.dptr && cell_at(call.dptr)) {
    out.add(Rule::kMemFreeAsyncNotVmm);
  } else if (!plain) {
    judge_freed(out, call.dptr);
  }
  return out;
}

const char* Reference::accept(const calls::MemFreeAsync& call) {
  if (PlainMemory* plain = plain_.live_base(call.dptr)) {
    plain->live = false;
    plain->by_pool = true;
  }
  return nullptr;
}

Judgement Reference::judge(const calls::MemPoolExportToShareableHandle& call, Actor) const {
  Judgement out;
  if (!call.handle_out) out.add(Rule::kPoolExportOutNonnull);
  if (call.flags) out.add(Rule::kPoolExportFlags);
  const auto* pool =
      judge_pool(out, call.pool, Rule::kPoolExportPoolValid, Rule::kPoolExportPoolAlive);
  const auto type = static_cast<unsigned>(call.handleType);
  if (pool && pool->source >= 0) out.add(Rule::kPoolExportNotImported);
  const bool one = type == 1 || type == 2 || type == 4 || type == 8;
  if (!one || (pool && !(pool->types & type))) out.add(Rule::kPoolExportType);
  out.loose = type == 8;
  return out;
}

const char* Reference::accept(const calls::MemPoolExportToShareableHandle& call) {
  const int index = pool_state_.find(number(call.pool));
  if (index < 0) return "no pool was exported";
  const int fd = *static_cast<const int*>(call.handle_out);
  opened(fd);
  descriptors_.push_back({fd, -1, true, index});
  pool_state_.pools[static_cast<std::size_t>(index)].exported = true;
  return fd < 0 ? "the descriptor is negative" : nullptr;
}

int Reference::pool_behind(int fd) const {
  for (const Descriptor& d : descriptors_) {
    if (d.open && d.pool >= 0 && d.fd == fd) return d.pool;
  }
  return -1;
}

Judgement Reference::judge(const calls::MemPoolImportFromShareableHandle& call, Actor) const {
  Judgement out;
  if (!call.pool_out) out.add(Rule::kPoolImportOutNonnull);
  if (call.flags) out.add(Rule::kPoolImportFlags);
  const auto type = static_cast<unsigned>(call.handleType);
  if (type != 1) {
    const bool known = type == 2 || type == 8;
    out.add(known ? Rule::kPoolImportTypeSupported : Rule::kPoolImportType);
    if (!call.handle) out.add(Rule::kPoolImportNonzero);
    return out;
  }
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(call.handle));
  if (!call.handle) {
    out.add(Rule::kPoolImportNonzero);
    return out;
  }
  if (const Descriptor* exported = export_at(fd)) {
    out.add(Rule::kPoolImportKind);
    out.unseen = exported->other;
    out.loose =
        is_team(exported->memory);  // no document says how a driver refuses a multicast object
  } else if (pool_behind(fd) < 0) {
    out.add(Rule::kPoolImportDescriptor);
  }
  return out;
}

const char* Reference::accept(const calls::MemPoolImportFromShareableHandle& call) {
  const int source = pool_behind(static_cast<int>(reinterpret_cast<std::intptr_t>(call.handle)));
  if (source < 0) return "something that is no pool was imported";
  auto pool = pool_state_.pools[static_cast<std::size_t>(source)];
  pool.value = number(*call.pool_out);
  pool.source = source;
  pool.live = true;
  pool.exported = false;
  pool.given.clear();
  pool.values.fill(-1);
  pool.set = false;
  pool_state_.pools.push_back(pool);
  return nullptr;
}

Judgement Reference::judge(const calls::MemPoolExportPointer& call, Actor) const {
  Judgement out;
  if (!call.shareData_out) out.add(Rule::kPoolPointerOutNonnull);
  const PlainMemory* plain = plain_.at(call.ptr);
  if (!plain || plain->kind != PlainMemory::Kind::kPool) {
    out.add(Rule::kPoolPointerValid);
    return out;
  }
  const auto& pool = pool_state_.pools[static_cast<std::size_t>(plain->owner)];
  if (pool.types == 0) {
    out.add(Rule::kPoolPointerShareable);
  } else if (!pool.exported) {
    out.add(Rule::kPoolPointerExported);
  }
  if (plain->base != call.ptr) out.add(Rule::kPoolPointerBase);
  out.loose =
      !pool.live || ambiguous(call.ptr);  // no document says whether memory outlives its pool here
  return out;
}

const char* Reference::accept(const calls::MemPoolExportPointer& call) {
  return name_given(call.ptr, call.shareData_out, true) ? nullptr
                                                        : "the pointer of nothing was exported";
}

Judgement Reference::judge(const calls::MemPoolImportPointer& call, Actor actor) const {
  Judgement out;
  if (!call.ptr_out) out.add(Rule::kPoolTakeOutNonnull);
  const auto* pool = judge_pool(out, call.pool, Rule::kPoolTakePoolValid, Rule::kPoolTakePoolAlive);
  if (pool && pool->source < 0) out.add(Rule::kPoolTakeImported);
  out.loose = actor.device < 0 || (!pool && !out.breaks(Rule::kPoolTakePoolValid));
  out.may_run_out = true;
  if (!call.shareData) {
    out.add(Rule::kPoolTakeDataNonnull);
    return out;
  }
  const auto* token = pool_state_.token(call.shareData, true);
  if (!token) {
    out.add(Rule::kPoolTakeData);
    return out;
  }
  const PlainMemory& memory = plain_.all()[static_cast<std::size_t>(token->memory)];
  if (pool && pool->source >= 0 && memory.owner != pool->source) out.add(Rule::kPoolTakeData);
  if (!memory.live) out.add(Rule::kPoolTakeAlive);
  for (const PlainMemory& other : plain_.all()) {
    const bool again =
        other.live && other.kind == PlainMemory::Kind::kTaken && other.source == token->memory;
    const auto& prop = memories_[static_cast<std::size_t>(other.memory)].prop;
    if (!again || static_cast<int>(prop.location.type) == 1) continue;
    out.add(Rule::kPoolTakeOnce);
    break;
  }
  return out;
}

const char* Reference::accept(const calls::MemPoolImportPointer& call) {
  const auto* token = pool_state_.token(call.shareData, true);
  if (!token) return "a pointer of nothing was imported";
  const PlainMemory from = plain_.all()[static_cast<std::size_t>(token->memory)];
  // A second import gives the same pointer.
  if (PlainMemory* other = plain_.live_base(*call.ptr_out);
      other && other->kind == PlainMemory::Kind::kTaken && other->source == token->memory) {
    const int through = pool_state_.find(number(call.pool));
    if (through != other->owner) other->also.push_back(through);
    other->vague = other->vague || !pool_state_.pools[static_cast<std::size_t>(through)].live;
    return nullptr;
  }
  // For freed memory a driver gives other memory.
  const CUmemLocation where = memories_[static_cast<std::size_t>(from.memory)].prop.location;
  const int memory =
      from.live ? from.memory : fresh_memory(from.size, static_cast<int>(where.type), where.id);
  const int pool = pool_state_.find(number(call.pool));
  return place({.base = *call.ptr_out,
                .size = from.size,
                .kind = PlainMemory::Kind::kTaken,
                .memory = memory,
                .offset = from.live ? from.offset : 0,
                .owner = pool,
                .source = token->memory,
                .vague = !pool_state_.pools[static_cast<std::size_t>(pool)].live});
}

Judgement Reference::judge(const calls::MemPoolSetAccess& call, Actor) const {
  Judgement out;
  const auto* pool =
      judge_pool(out, call.pool, Rule::kPoolAccessPoolValid, Rule::kPoolAccessPoolAlive);
  out.loose = call.count == 0;
  // The location of a destroyed pool is still known.
  const int last = call.pool ? pool_state_.find(number(call.pool)) : -1;
  const auto* where = last < 0 ? nullptr : &pool_state_.pools[static_cast<std::size_t>(last)];
  if (!call.map) {
    out.add(Rule::kPoolAccessMap);
    return out;
  }
  for (std::size_t i = 0; i < call.count; ++i) {
    const CUmemAccessDesc& desc = call.map[i];
    const auto flags = static_cast<unsigned>(desc.flags);
    const int type = static_cast<int>(desc.location.type);
    if (flags == 2 || flags > 3) out.add(Rule::kPoolAccessFlags);
    if (flags == 1) out.add(Rule::kPoolAccessReadOnly);
    const bool of_host = pool && pool->location_type != 1 && (type == 2 || type == 3);
    if (type == 1 && !valid_device(desc.location.id)) {
      out.add(Rule::kPoolAccessLocationDevice);
    } else if (type != 1 && (!of_host || flags == 0)) {
      out.add(Rule::kPoolAccessLocationType);
    }
    if (type == 1 && flags == 0 && where && where->location_type == 1 &&
        where->location == desc.location.id) {
      out.add(Rule::kPoolAccessOwn);
    }
  }
  return out;
}

const char* Reference::accept(const calls::MemPoolSetAccess& call) {
  const int index = pool_state_.find(number(call.pool));
  if (index < 0) return nullptr;
  auto& pool = pool_state_.pools[static_cast<std::size_t>(index)];
  pool.vague = pool.vague || !pool.live;
  auto& given = pool.given;
  for (std::size_t i = 0; i < call.count; ++i) {
    if (static_cast<int>(call.map[i].location.type) != 1) continue;
    std::erase(given, call.map[i].location.id);
    if (static_cast<unsigned>(call.map[i].flags) == 3) given.push_back(call.map[i].location.id);
  }
  return nullptr;
}

void Reference::judge_pool_touch(Judgement& out, const PlainMemory& plain, bool fill,
                                 Actor actor) const {
  using Kind = PlainMemory::Kind;
  if (plain.kind != Kind::kPool && plain.kind != Kind::kTaken) return;
  const PoolState::Pool& pool = pool_state_.pools[static_cast<std::size_t>(plain.owner)];
  const auto& prop = memories_[static_cast<std::size_t>(plain.memory)].prop;
  const bool on_host = static_cast<int>(prop.location.type) != 1;
  out.host_import = out.host_import || (on_host && plain.kind == Kind::kTaken);
  if (on_host && !fill) {
    out.add(Rule::kDataPoolOnHost);
    return;
  }
  if (!on_host && prop.location.id == actor.device) return;
  const auto gives = [&](int owner) {
    const auto& given = pool_state_.pools[static_cast<std::size_t>(owner)].given;
    return std::count(given.begin(), given.end(), actor.device) != 0;
  };
  // Where memory was imported through several pools, the access of any may count.
  const auto further = std::count_if(plain.also.begin(), plain.also.end(), gives);
  const bool all = gives(plain.owner) && further == static_cast<int>(plain.also.size());
  const bool none = !gives(plain.owner) && further == 0;
  const bool vague = pool.vague || plain.vague || (!all && !none);
  out.loose = out.loose || vague;
  out.unseen = out.unseen || plain.kind == Kind::kTaken;
  if (none && !vague) out.add(Rule::kDataPoolAccess);
}

Judgement Reference::judge(const calls::DeviceSetMemPool& call, Actor) const {
  Judgement out;
  if (!valid_device(call.dev)) out.add(Rule::kPoolSetDevice);
  const auto* pool = judge_pool(out, call.pool, Rule::kPoolSetPoolValid, Rule::kPoolSetPoolAlive);
  if (pool && pool->source >= 0) out.add(Rule::kPoolSetImported);
  const bool local = pool && pool->location_type == 1 && pool->location == call.dev;
  if (pool && valid_device(call.dev) && !local) out.add(Rule::kPoolSetLocal);
  return out;
}

std::vector<std::pair<std::uint64_t, int>> Reference::given_to_defaults() const {
  std::vector<std::pair<std::uint64_t, int>> out;
  for (const auto& pool : pool_state_.pools) {
    for (const int device : pool.given) {
      const bool own = pool.location_type == 1 && device == pool.location;
      if (pool.is_default && !own) out.emplace_back(pool.value, device);
    }
  }
  return out;
}

std::vector<std::uint64_t> Reference::pools() const {
  std::vector<std::uint64_t> out;
  for (const auto& pool : pool_state_.pools) {
    if (pool.live && !pool.is_default) out.push_back(pool.value);
  }
  return out;
}

}  // namespace cuvmm::fuzz
