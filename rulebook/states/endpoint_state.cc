// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/endpoint_state.h"

#include <algorithm>
#include <limits>

namespace cuvmm {

namespace {

std::uint64_t bit(int device) {
  return device >= 0 && device < 63 ? std::uint64_t{1} << device : 0;
}

}  // namespace

std::pair<Handle, Size> memory_of(const EndpointBind& bind, const UnicastState& vmm) {
  if (!bind.by_address) return {bind.memory, bind.memory_offset};
  const Mapping* m = vmm.mapping_at(bind.address);
  if (!m) return {0, 0};
  return {m->handle, m->offset + (bind.address - m->base)};
}

const EndpointIds* EndpointState::reserved(std::uint32_t id) const {
  auto it = ids_.upper_bound(id);
  if (it == ids_.begin()) return nullptr;
  --it;
  return id - it->second.base < it->second.count ? &it->second : nullptr;
}

Endpoint& EndpointState::known(std::uint32_t id, Origin at) {
  auto [it, inserted] = endpoints_.try_emplace(id);
  if (inserted) {
    it->second.id = id;
    it->second.imported = it->second.shared = it->second.ready = true;
    it->second.made = at;
  }
  return it->second;
}

// --- Before the call goes to the driver

void EndpointState::begin(const calls::LogicalEndpointIdRelease& call, Origin at,
                          const Surroundings& around, Retired& retired) {
  if (call.count == 0) return;
  const std::uint64_t first = call.baseLeId;
  const std::uint64_t end = first + call.count;
  for (auto it = ids_.begin(); it != ids_.end();) {
    const EndpointIds whole = it->second;
    const std::uint64_t whole_end = std::uint64_t{whole.base} + whole.count;
    if (whole.base >= end || whole_end <= first) {
      ++it;
      continue;
    }
    retired.more().endpoints.ids.push_back(whole);
    it = ids_.erase(it);
    const auto keep = [&](std::uint64_t from, std::uint64_t to) {
      if (from >= to) return;
      const EndpointIds part{static_cast<std::uint32_t>(from),
                             static_cast<std::uint32_t>(to - from), whole.made};
      it = std::next(ids_.insert_or_assign(part.base, part).first);
    };
    keep(whole.base, std::max<std::uint64_t>(first, whole.base));
    keep(std::min(end, whole_end), whole_end);
    around.tombstones.add({ObjectRef::Kind::kEndpointId, whole.base, whole.count, whole.made, at});
  }
}

void EndpointState::begin(const calls::LogicalEndpointDestroy& call, Origin at,
                          const Surroundings& around, Retired& retired) {
  auto ended = endpoints_.extract(call.leId);
  if (!ended) return;
  const Endpoint& endpoint = ended.mapped();
  around.tombstones.add(
      {ObjectRef::Kind::kEndpoint, endpoint.id, endpoint.size, endpoint.made, at});
  retired.more().endpoints.endpoints.push_back(std::move(ended.mapped()));
}

void EndpointState::begin(const calls::LogicalEndpointUnbind& call, Origin, const Surroundings&,
                          Retired& retired) {
  const auto found = endpoints_.find(call.leId);
  if (found == endpoints_.end()) return;
  std::erase_if(found->second.bindings, [&](const EndpointBinding& b) {
    if (b.device != call.dev || !overlap(b.offset, b.size, call.offset, call.size)) return false;
    retired.more().endpoints.bindings.push_back(b);
    return true;
  });
}

// --- After the driver accepted the call

void EndpointState::confirm(const calls::LogicalEndpointIdReserve& call, const Facts&, Origin at,
                            const Surroundings& around) {
  if (call.count == 0) return;
  const EndpointIds ids{*call.baseLeId, call.count, at};
  around.tombstones.forget(ObjectRef::Kind::kEndpointId, ids.base);
  ids_[ids.base] = ids;
}

void EndpointState::confirm(const calls::LogicalEndpointCreate& call, const Facts& facts, Origin at,
                            const Surroundings& around) {
  Endpoint made;
  made.id = call.leId;
  made.type = static_cast<unsigned>(call.prop->type);
  if (made.unicast()) made.owner = call.prop->unicast.device;
  if (made.multicast()) made.team = call.prop->multicast.numDevices;
  made.size = call.prop->size;
  made.alignment = facts.endpoint.alignment;
  made.handle_types = call.prop->ipcHandleTypes;
  made.made = at;
  around.tombstones.forget(ObjectRef::Kind::kEndpoint, made.id);
  endpoints_[made.id] = std::move(made);
}

void EndpointState::confirm(const calls::LogicalEndpointAddDevice& call, const Facts&, Origin at,
                            const Surroundings&) {
  known(call.leId, at).added |= bit(call.dev);
}

void EndpointState::confirm(const calls::LogicalEndpointBindAddr& call, const Facts&, Origin at,
                            const Surroundings& around) {
  bind(bind_of(call), at, around.vmm);
}

void EndpointState::confirm(const calls::LogicalEndpointBindMem& call, const Facts&, Origin at,
                            const Surroundings& around) {
  bind(bind_of(call), at, around.vmm);
}

void EndpointState::bind(const EndpointBind& bind, Origin at, const UnicastState& vmm) {
  EndpointBinding binding;
  binding.endpoint = bind.endpoint;
  binding.device = bind.device;
  binding.offset = bind.offset;
  binding.size = bind.size;
  binding.memory = memory_of(bind, vmm).first;
  binding.made = at;
  known(bind.endpoint, at).bindings.push_back(binding);
}

void EndpointState::confirm(const calls::LogicalEndpointExport& call, const Facts&, Origin at,
                            const Surroundings&) {
  known(call.leId, at).shared = true;
}

void EndpointState::confirm(const calls::LogicalEndpointImport& call, const Facts& facts, Origin at,
                            const Surroundings& around) {
  Endpoint made;
  made.id = call.leId;
  made.type = facts.endpoint.type;
  made.team = facts.endpoint.devices;
  made.size = facts.endpoint.size;
  made.alignment = facts.endpoint.alignment;
  made.imported = made.shared = true;
  made.made = at;
  around.tombstones.forget(ObjectRef::Kind::kEndpoint, made.id);
  endpoints_[made.id] = std::move(made);
}

void EndpointState::confirm(const calls::LogicalEndpointQuery& call, const Facts&, Origin,
                            const Surroundings&) {
  if (*call.queryStatus == 0) return;
  for (auto& [id, endpoint] : endpoints_) {
    if (id - call.leId < call.count) endpoint.ready = true;
  }
}

// --- After the driver refused the call

void EndpointState::undo(const RarelyRetired& taken, Origin, const Surroundings& around) {
  for (const EndpointIds& whole : taken.endpoints.ids) {
    // The remaining parts become part of the whole range again.
    std::erase_if(ids_,
                  [&](const auto& entry) { return entry.second.base - whole.base < whole.count; });
    ids_[whole.base] = whole;
    around.tombstones.forget(ObjectRef::Kind::kEndpointId, whole.base);
  }
  for (const Endpoint& endpoint : taken.endpoints.endpoints) {
    if (!endpoints_.try_emplace(endpoint.id, endpoint).second) continue;
    around.tombstones.forget(ObjectRef::Kind::kEndpoint, endpoint.id);
  }
  for (const EndpointBinding& binding : taken.endpoints.bindings) {
    const auto found = endpoints_.find(binding.endpoint);
    if (found != endpoints_.end()) found->second.bindings.push_back(binding);
  }
}

}  // namespace cuvmm
