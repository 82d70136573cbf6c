// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/multicast_state.h"

#include <algorithm>

#include "api/location.h"

namespace cuvmm {

namespace {

std::uint64_t bit(int device) {
  return device >= 0 && device < 63 ? std::uint64_t{1} << device : 0;
}

}  // namespace

std::pair<Handle, Size> memory_of(const MulticastBind& bind, const UnicastState& vmm) {
  if (!bind.by_address) return {bind.memory, bind.memory_offset};
  const Mapping* m = vmm.mapping_at(bind.address);
  if (!m) return {0, 0};
  return {m->handle, m->offset + (bind.address - m->base)};
}

int device_of(const MulticastBind& bind, const UnicastState& vmm) {
  if (bind.device) return *bind.device;
  const Allocation* a = vmm.allocation(memory_of(bind, vmm).first);
  return a && a->prop_known ? device_of(a->prop.location) : kNoDevice;
}

MulticastObject& MulticastState::known(Handle handle, Origin at) {
  auto [it, inserted] = objects_.try_emplace(handle);
  if (inserted) {
    it->second.handle = handle;
    it->second.shareable = it->second.shared = true;
    it->second.made = at;
  }
  return it->second;
}

// --- Before the call goes to the driver

void MulticastState::begin(const calls::MulticastUnbind& call, Origin, const Surroundings&,
                           Retired& retired) {
  const auto object = objects_.find(call.mcHandle);
  if (object == objects_.end()) return;
  auto& bindings = object->second.bindings;
  const auto found = std::find_if(bindings.begin(), bindings.end(), [&](const auto& b) {
    return b.offset == call.mcOffset && (b.device == call.dev || b.device < 0);
  });
  if (found == bindings.end()) return;
  retired.more().multicast.bindings.emplace_back(call.mcHandle, *found);
  bindings.erase(found);
}

void MulticastState::end_dead(const UnicastState& vmm, Retired& retired) {
  for (const Allocation& before : retired.allocations) {
    if (!vmm.allocation(before.handle)) end(before.handle, retired);
  }
}

void MulticastState::end(Handle handle, Retired& retired) {
  if (auto object = objects_.extract(handle)) {
    retired.more().multicast.objects.push_back(std::move(object.mapped()));
  }
  for (auto& [of, object] : objects_) {
    std::erase_if(object.bindings, [&, of = of](const MulticastBinding& b) {
      if (b.memory != handle) return false;
      retired.more().multicast.bindings.emplace_back(of, b);
      return true;
    });
  }
}

// --- After the driver accepted the call

void MulticastState::confirm(const calls::MemExportToShareableHandle& call, const Facts&, Origin,
                             const Surroundings&) {
  const auto object = objects_.find(call.handle);
  if (object != objects_.end()) object->second.shared = true;
}

void MulticastState::confirm(const calls::MulticastCreate& call, const Facts& facts, Origin at,
                             const Surroundings&) {
  MulticastObject object;
  object.handle = *call.mcHandle;
  object.team = call.prop->numDevices;
  object.size = call.prop->size;
  object.granularity = facts.multicast.granularity;
  object.recommended = facts.multicast.recommended;
  object.shareable = call.prop->handleTypes != 0;
  object.made = at;
  objects_[object.handle] = std::move(object);
}

void MulticastState::confirm(const calls::MulticastAddDevice& call, const Facts&, Origin at,
                             const Surroundings&) {
  known(call.mcHandle, at).added |= bit(call.dev);
}

void MulticastState::bind(const MulticastBind& bind, Origin at, const UnicastState& vmm) {
  MulticastBinding binding;
  binding.device = device_of(bind, vmm);
  binding.offset = bind.offset;
  binding.size = bind.size;
  binding.memory = memory_of(bind, vmm).first;
  binding.made = at;
  MulticastObject& object = known(bind.object, at);
  const Size memory_at = bind.by_address ? bind.address : bind.memory_offset;
  if (object.granularity != 0 && memory_at % object.granularity != 0) {
    binding.behind = object.granularity;
  }
  object.bindings.push_back(binding);
}

void MulticastState::imported(MulticastObject known, Origin at) {
  known.shareable = known.shared = true;
  known.made = at;
  objects_[known.handle] = std::move(known);
}

// --- After the driver refused the call

void MulticastState::undo(const RarelyRetired& taken, Origin, const Surroundings&) {
  for (const MulticastObject& object : taken.multicast.objects) {
    objects_.try_emplace(object.handle, object);
  }
  for (const auto& [handle, binding] : taken.multicast.bindings) {
    const auto object = objects_.find(handle);
    if (object != objects_.end()) object->second.bindings.push_back(binding);
  }
}

}  // namespace cuvmm
