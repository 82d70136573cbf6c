// SPDX-License-Identifier: Apache-2.0
// The model's part that is about multicast objects.
#include <algorithm>

#include "rulebook/model/model.h"

namespace cuvmm {

namespace {

std::uint64_t bit(int device) {
  return device >= 0 && device < 63 ? std::uint64_t{1} << device : 0;
}

}  // namespace

std::pair<Handle, Size> Model::memory_of(const MulticastBind& bind) const {
  if (!bind.by_address) return {bind.memory, bind.memory_offset};
  const Mapping* m = mapping_at(bind.address);
  if (!m) return {0, 0};
  return {m->handle, m->offset + (bind.address - m->base)};
}

int Model::device_of(const MulticastBind& bind) const {
  if (bind.device) return *bind.device;
  const Allocation* a = allocation(memory_of(bind).first);
  const bool on_device = a && a->prop_known && a->prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return on_device ? a->prop.location.id : -1;
}

MulticastObject& Model::known_multicast(Handle handle, Origin at) {
  auto [it, inserted] = multicasts_.try_emplace(handle);
  if (inserted) {
    it->second.handle = handle;
    it->second.shareable = it->second.shared = true;
    it->second.made = at;
  }
  return it->second;
}

void Model::commit(const calls::MulticastCreate& call, const Facts& facts, Origin at) {
  Allocation a;
  a.handle = *call.mcHandle;
  a.size = call.prop->size;
  a.granularity = facts.granularity;
  a.prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  a.prop.requestedHandleTypes =
      static_cast<CUmemAllocationHandleType>(static_cast<unsigned>(call.prop->handleTypes));
  a.prop_known = true;
  a.references = 1;
  a.made = at;
  tombstones_.forget(ObjectRef::Kind::kAllocation, a.handle);
  allocations_[a.handle] = a;
  MulticastObject object;
  object.handle = a.handle;
  object.team = call.prop->numDevices;
  object.size = call.prop->size;
  object.granularity = facts.granularity;
  object.recommended = facts.recommended;
  object.shareable = call.prop->handleTypes != 0;
  object.made = at;
  multicasts_[object.handle] = std::move(object);
}

void Model::commit_multicast_import(MulticastObject known, Origin at) {
  known.shareable = known.shared = true;
  known.made = at;
  multicasts_[known.handle] = std::move(known);
}

void Model::commit(const calls::MulticastAddDevice& call, Origin at) {
  known_multicast(call.mcHandle, at).added |= bit(call.dev);
}

void Model::commit(const MulticastBind& bind, Origin at) {
  MulticastBinding binding;
  binding.device = device_of(bind);
  binding.offset = bind.offset;
  binding.size = bind.size;
  binding.memory = memory_of(bind).first;
  binding.made = at;
  known_multicast(bind.object, at).bindings.push_back(binding);
}

void Model::retire(const calls::MulticastUnbind& call, Retired& retired) {
  const auto object = multicasts_.find(call.mcHandle);
  if (object == multicasts_.end()) return;
  auto& bindings = object->second.bindings;
  const auto found = std::find_if(bindings.begin(), bindings.end(), [&](const auto& b) {
    return b.offset == call.mcOffset && (b.device == call.dev || b.device < 0);
  });
  if (found == bindings.end()) return;
  retired.more().multicast.bindings.emplace_back(call.mcHandle, *found);
  bindings.erase(found);
}

void Model::end_multicast(Handle handle, Retired& retired) {
  if (auto object = multicasts_.extract(handle)) {
    retired.more().multicast.objects.push_back(std::move(object.mapped()));
  }
  for (auto& [of, object] : multicasts_) {
    std::erase_if(object.bindings, [&, of = of](const MulticastBinding& b) {
      if (b.memory != handle) return false;
      retired.more().multicast.bindings.emplace_back(of, b);
      return true;
    });
  }
}

void Model::restore(RetiredMulticast&& retired) {
  for (MulticastObject& object : retired.objects) {
    const Handle handle = object.handle;
    multicasts_.try_emplace(handle, std::move(object));
  }
  for (auto& [handle, binding] : retired.bindings) {
    const auto object = multicasts_.find(handle);
    if (object != multicasts_.end()) object->second.bindings.push_back(binding);
  }
}

}  // namespace cuvmm
