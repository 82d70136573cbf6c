// SPDX-License-Identifier: Apache-2.0
#include "shim/recorder/timeline.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

namespace cuvmm::shim {

namespace {

using timeline::Object;

constexpr std::size_t kMostStacksListed =
    512;  // made readable at the end, which takes a while for each

Object object_of(const PlainMemory& m) {
  using K = PlainMemory::Kind;
  return m.kind == K::kManaged      ? Object::kManaged
         : m.kind == K::kHost       ? Object::kHost
         : m.kind == K::kRegistered ? Object::kRegistered
                                    : Object::kDevice;
}
Object object_of(const Allocation& a) {
  if (a.imported) return Object::kImport;
  return a.multicast ? Object::kMulticast : Object::kAllocation;
}
int device_of_memory(const Allocation& a) { return a.prop_known ? device_of(a.prop.location) : -1; }

}  // namespace

void Timeline::named(const ProcessHistory& history, const NamedByCall& named,
                     const Origin& at) noexcept {
  const Model& model = history.model;
  if (named.handle != 0) {
    const Allocation* const a = model.allocation(named.handle);
    if (a && a->made.call == at.call) {
      begin(object_of(*a), a->handle, a->size, 0, 0, device_of_memory(*a), at);
    }
  }
  if (named.fd >= 0) {
    const auto found = model.exports().find(named.fd);
    if (found != model.exports().end()) {
      const Export& e = found->second;
      begin(Object::kExport, static_cast<std::uint64_t>(e.fd), e.size, e.handle, 0, -1, at);
    }
  }
  if (named.size != 0 && named.range != 0) {
    const Mapping* const m = model.mapping_at(named.range);
    if (m && m->made.call == at.call) {
      begin(Object::kMapping, m->base, m->size, m->handle, m->offset, -1, at);
    }
  }
  if (named.made == 0) return;
  if (const Reservation* const r = model.reservation_at(named.made); r && r->made.call == at.call) {
    return begin(Object::kReservation, r->base, r->size, 0, 0, -1, at);
  }
  if (const PlainMemory* const m = model.memory().at(named.made); m && m->made.call == at.call) {
    return begin(object_of(*m), m->base, m->size, 0, 0, m->device, at);
  }
  if (const auto pool = model.pools().memory().find(named.made);
      pool != model.pools().memory().end() && pool->second.made.call == at.call) {
    const PoolMemory& m = pool->second;
    return begin(Object::kPool, m.base, m.size, m.pool, 0, device_of(m.location), at);
  }
  if (const IpcOpen* const open = model.ipc().open_of(named.made);
      open && open->made.call == at.call) {
    return begin(Object::kIpc, open->pointer, open->size, 0, 0, open->device, at);
  }
  if (const ExternalBuffer* const b = model.external().buffer_at(named.made);
      b && b->made.call == at.call) {
    begin(Object::kExternalBuffer, b->base, b->size, b->memory, b->offset, b->device, at);
  }
}

void Timeline::imported(const Model& model, std::uint64_t handle, const Origin& at) noexcept {
  const auto found = model.external().memories().find(handle);
  if (found == model.external().memories().end()) return;
  const ExternalMemory& m = found->second;
  begin(Object::kExternal, m.handle, m.size, 0, 0, m.device, at);
}

void Timeline::tell(What what, const Use& use, Handle memory, std::uint64_t offset,
                    const Origin& at) noexcept {
  add(what, use.object, use.device,
      {use.key, use.size, timeline::use_word(offset, use.number), memory}, at);
}

void Timeline::end(What what, const Use& use, const Origin& at) noexcept {
  add(what, use.object, use.device,
      {use.key, use.size, timeline::use_word(use.made.stack, use.number), use.made.call}, at);
}

void Timeline::bound(const Model& model, Handle object, const Origin& at) noexcept {
  const MulticastObject* const team = model.multicast(object);
  if (!team || team->bindings.empty()) return;
  const MulticastBinding& last = team->bindings.back();
  if (last.made.call == at.call)
    tell(What::kBegin, use_of(object, last), last.memory, last.offset, at);
}

// If a later entry of the call covers the part that an entry maps, no event is noted for the
// earlier entry.
void Timeline::in_array(const Model& model, const calls::MemMapArrayAsync& call,
                        const Origin& at) noexcept {
  for (const auto& [array, tiles] : model.tiles().ended()) {
    if (tiles.made.call != at.call) end(What::kEnd, use_of(array, tiles), at);
  }
  for (unsigned i = 0; i < call.count; ++i) {
    const CUarrayMapInfo& info = call.mapInfoList[i];
    const TileState::Tiles* const tiles = model.tiles().find(info);
    if (!tiles || tiles->made.call != at.call || tiles->number != static_cast<std::uint16_t>(i)) {
      continue;
    }
    const auto array = reinterpret_cast<std::uintptr_t>(info.resource.array);
    tell(What::kBegin, use_of(array, *tiles), tiles->memory, tiles->offset, at);
  }
}

void Timeline::created(const calls::MemCreate& call, const Origin& at) noexcept {
  begin(Object::kAllocation, *call.handle, call.size, 0, 0, device_of(call.prop->location), at);
}

void Timeline::every_access(const calls::MemSetAccess& call, const Origin& at) noexcept {
  for (std::size_t i = 0; call.desc && i < call.count; ++i) access(call, call.desc[i], at);
}

// The memory has lost a reference or a mapping. Does nothing if the memory has other references or
// mappings.
void Timeline::lost(const Allocation& before, const Origin& at) noexcept {
  if (before.references + before.mappings != 1) return;
  end(What::kEnd, object_of(before), before.handle, before.size, before.made,
      device_of_memory(before), at);
}

void Timeline::all_ended(const Retired& retired, const Origin& at) noexcept {
  for (const Mapping& m : retired.mappings) {
    end(What::kEnd, Object::kMapping, m.base, m.size, m.made, -1, at);
  }
  for (const Allocation& before : retired.allocations) lost(before, at);
  for (const Reservation& r : retired.reservations) {
    end(What::kEnd, Object::kReservation, r.base, r.size, r.made, -1, at);
  }
  if (retired.rare) [[unlikely]]
    rare_ended(*retired.rare, at);
}

void Timeline::rare_ended(const RarelyRetired& rare, const Origin& at) noexcept {
  const auto plain = [&](const auto& objects) {
    for (const PlainMemory& m : objects) {
      end(What::kEnd, object_of(m), m.base, m.size, m.made, m.device, at);
    }
  };
  const auto pool = [&](const auto& objects) {
    for (const PoolMemory& m : objects) {
      end(What::kEnd, Object::kPool, m.base, m.size, m.made, device_of(m.location), at);
    }
  };
  plain(rare.memory);
  plain(rare.context.memory);
  pool(rare.pool_memory);
  pool(rare.context.pool_memory);
  const auto external = [&](const auto& memories, const auto& buffers) {
    for (const ExternalMemory& m : memories) {
      end(What::kEnd, Object::kExternal, m.handle, m.size, m.made, m.device, at);
    }
    for (const ExternalBuffer& b : buffers) {
      end(What::kEnd, Object::kExternalBuffer, b.base, b.size, b.made, b.device, at);
    }
  };
  const ExternalRetired& one = rare.external;
  if (one.memory) external(std::span(&*one.memory, 1), std::span<const ExternalBuffer>());
  if (one.buffer) external(std::span<const ExternalMemory>(), std::span(&*one.buffer, 1));
  external(rare.context.memories, rare.context.buffers);
  const auto unbound = [&](Handle object, const MulticastBinding& b) {
    end(What::kEnd, use_of(object, b), at);
  };
  for (const auto& [object, b] : rare.multicast.bindings) unbound(object, b);
  for (const MulticastObject& object : rare.multicast.objects) {
    for (const MulticastBinding& b : object.bindings) unbound(object.handle, b);
  }
  for (const auto& [region, tiles] : rare.tiles) end(What::kEnd, use_of(region[0], tiles), at);
  for (const IpcOpen& open : rare.ipc_opens) {
    if (open.count > 1) continue;
    end(What::kEnd, Object::kIpc, open.pointer, open.size, open.made, open.device, at);
  }
  for (const IpcOpen& open : rare.context.ipc_opens) {
    end(What::kEnd, Object::kIpc, open.pointer, open.size, open.made, open.device, at);
  }
}

void Timeline::add_alive(const Model& model) noexcept {
  std::uint64_t before = 0, after = 0;
  if (!writer_.gap(before, after)) return;
  std::size_t room = timeline::kLastEvents / 2;
  const auto in_gap = [&](const Origin& made) {
    if (made.call <= before || made.call >= after || room == 0) return false;
    --room;
    return true;
  };
  const auto alive = [&](Object object, std::uint64_t key, std::uint64_t size, Origin made,
                         int device) {
    if (in_gap(made)) end(What::kAlive, object, key, size, made, device, {});
  };
  for (const auto& [base, r] : model.reservations()) {
    alive(Object::kReservation, base, r.size, r.made, -1);
  }
  for (const auto& [handle, a] : model.allocations()) {
    alive(object_of(a), handle, a.size, a.made, device_of_memory(a));
  }
  for (const auto& [base, m] : model.mappings()) {
    alive(Object::kMapping, base, m.size, m.made, -1);
  }
  for (const auto& [base, m] : model.memory().all()) {
    alive(object_of(m), m.base, m.size, m.made, m.device);
  }
  for (const auto& [base, m] : model.pools().memory()) {
    alive(Object::kPool, m.base, m.size, m.made, device_of(m.location));
  }
  for (const auto& [handle, m] : model.external().memories()) {
    alive(Object::kExternal, handle, m.size, m.made, m.device);
  }
  for (const auto& [base, b] : model.external().buffers()) {
    alive(Object::kExternalBuffer, base, b.size, b.made, b.device);
  }
  const auto used = [&](const Use& use, Handle memory, std::uint64_t offset) {
    if (room < 2 || !in_gap(use.made)) return;
    --room;
    end(What::kAlive, use, {});
    tell(What::kShows, use, memory, offset, {});
  };
  for (const auto& [handle, object] : model.multicasts()) {
    for (const MulticastBinding& b : object.bindings) used(use_of(handle, b), b.memory, b.offset);
  }
  for (const auto& [region, tiles] : model.tiles().all()) {
    used(use_of(region[0], tiles), tiles.memory, tiles.offset);
  }
}

std::vector<StackId> Timeline::finish(const Model& model) {
  if (!writer_.is_open()) return {};
  if (!writer_.finished()) add_alive(model);
  writer_.finish();
  const timeline::Image& image = *writer_.image();
  std::unordered_map<StackId, std::uint64_t> bytes;
  const std::uint64_t count =
      std::min<std::uint64_t>(writer_.events(), timeline::kFirstEvents + timeline::kLastEvents);
  for (std::uint64_t i = 0; i < count; ++i) {
    const timeline::Event& event = image.events[i];
    if (event.by.stack != 0) bytes[event.by.stack] += event.size;
    const bool names_maker = event.what == What::kEnd || event.what == What::kAlive;
    if (names_maker && event.more != 0) bytes[static_cast<StackId>(event.more)] += event.size;
  }
  std::vector<std::pair<std::uint64_t, StackId>> order;
  for (const auto& [stack, size] : bytes) order.push_back({size, stack});
  std::sort(order.rbegin(), order.rend());
  std::vector<StackId> stacks;
  for (const auto& [size, stack] : order) {
    if (stacks.size() < kMostStacksListed) stacks.push_back(stack);
  }
  return stacks;
}

}  // namespace cuvmm::shim
