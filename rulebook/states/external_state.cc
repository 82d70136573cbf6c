// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/external_state.h"

#include <algorithm>
#include <utility>

namespace cuvmm {

namespace {

using Kind = ObjectRef::Kind;

template <class Object>
std::uint64_t number(Object object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

/// Moves the object with this key from the table to the member `taken` of retired.external.
template <class Table, class Key, class Taken>
void take_out(Table& table, Key key, Retired& retired, Taken ExternalRetired::*taken) {
  const auto found = table.find(key);
  if (found == table.end()) return;
  retired.more().external.*taken = found->second;
  table.erase(found);
}

}  // namespace

// --- Before the call goes to the driver

void ExternalState::begin(const calls::DestroyExternalMemory& call, Origin,
                          const Surroundings& around, Retired& retired) {
  around.ends.note(Kind::kExternalMemory, number(call.extMem));
  take_out(memories_, number(call.extMem), retired, &ExternalRetired::memory);
}

void ExternalState::begin(const calls::DestroyExternalSemaphore& call, Origin,
                          const Surroundings& around, Retired& retired) {
  around.ends.note(Kind::kExternalSemaphore, number(call.extSem));
  take_out(semaphores_, number(call.extSem), retired, &ExternalRetired::semaphore);
}

void ExternalState::begin(const calls::MemFree& call, Origin, const Surroundings& around,
                          Retired& retired) {
  around.ends.note(Kind::kExternalBuffer, call.dptr);
  take_out(buffers_, call.dptr, retired, &ExternalRetired::buffer);
}

void ExternalState::begin(const calls::MemFreeAsync& call, Origin, const Surroundings& around,
                          Retired& retired) {
  around.ends.note(Kind::kExternalBuffer, call.dptr);
  take_out(buffers_, call.dptr, retired, &ExternalRetired::buffer);
}

void ExternalState::begin(const Ending& ending, Origin, const Surroundings&, Retired& retired) {
  const auto ends = [&](const auto& object) { return ending.ends(object.context, object.device); };
  EndedContext& taken = retired.more().context;
  move_out(memories_, taken.memories, ends);
  move_out(buffers_, taken.buffers, ends);
  move_out(semaphores_, taken.semaphores, ends);
}

// --- After the driver accepted the call

void ExternalState::confirm(const calls::ImportExternalMemory& call, const Facts& facts, Origin at,
                            const Surroundings& around) {
  const std::uint64_t handle = number(*call.extMem_out);
  const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc = *call.memHandleDesc;
  around.tombstones.forget(Kind::kExternalMemory, handle);
  memories_[handle] = {.handle = handle,
                       .type = static_cast<unsigned>(desc.type),
                       .size = desc.size,
                       .object_size = facts.external.object_size,
                       .dedicated = (desc.flags & CUDA_EXTERNAL_MEMORY_DEDICATED) != 0,
                       .device = facts.place.device,
                       .context = facts.place.context_id,
                       .made = at};
}

void ExternalState::confirm(const calls::ExternalMemoryGetMappedBuffer& call, const Facts&,
                            Origin at, const Surroundings& around) {
  ExternalBuffer buffer;
  buffer.base = *call.devPtr;
  buffer.size = call.bufferDesc->size;
  buffer.offset = call.bufferDesc->offset;
  buffer.memory = number(call.extMem);
  const auto memory = memories_.find(buffer.memory);
  if (memory != memories_.end()) {
    buffer.device = memory->second.device;
    buffer.context = memory->second.context;
  }
  buffer.made = at;
  around.tombstones.reuse(Kind::kExternalBuffer, buffer.base, buffer.size);
  // Two buffers overlap if the old one ended by a route that cuvmm did not see: with its context,
  // say.
  auto it = buffers_.upper_bound(buffer.base);
  if (it != buffers_.begin()) --it;
  const auto begins_before_end = [&](Address base) {
    return base < buffer.base || base - buffer.base < buffer.size;
  };
  while (it != buffers_.end() && begins_before_end(it->first)) {
    const bool same = overlap(it->first, it->second.size, buffer.base, buffer.size);
    it = same ? buffers_.erase(it) : std::next(it);
  }
  buffers_[buffer.base] = buffer;
}

void ExternalState::confirm(const calls::ImportExternalSemaphore& call, const Facts& facts,
                            Origin at, const Surroundings& around) {
  const std::uint64_t handle = number(*call.extSem_out);
  const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC& desc = *call.semHandleDesc;
  around.tombstones.forget(Kind::kExternalSemaphore, handle);
  ExternalSemaphore semaphore;
  semaphore.handle = handle;
  semaphore.type = static_cast<unsigned>(desc.type);
  semaphore.device = facts.place.device;
  semaphore.context = facts.place.context_id;
  semaphore.made = at;
  semaphores_[handle] = semaphore;
}

void ExternalState::confirm(const calls::SignalExternalSemaphoresAsync& call, const Facts&, Origin,
                            const Surroundings&) {
  for (unsigned i = 0; i < call.numExtSems; ++i) {
    const auto found = semaphores_.find(number(call.extSemArray[i]));
    if (found == semaphores_.end()) continue;
    found->second.any_signal = true;
    found->second.signalled =
        std::max<std::uint64_t>(found->second.signalled, call.paramsArray[i].params.fence.value);
  }
}

void ExternalState::confirm(const RarelyRetired& taken, Origin at, const Surroundings& around) {
  const ExternalRetired& retired = taken.external;
  if (const auto& memory = retired.memory) {
    around.tombstones.add({Kind::kExternalMemory, memory->handle, memory->size, memory->made, at});
    for (auto& [base, buffer] : buffers_) {
      if (buffer.memory != memory->handle || buffer.memory_ended) continue;
      buffer.memory_ended = true;
      buffer.ended = at;
    }
  }
  if (const auto& buffer = retired.buffer) {
    around.tombstones.add({Kind::kExternalBuffer, buffer->base, buffer->size, buffer->made, at});
  }
  if (const auto& semaphore = retired.semaphore) {
    around.tombstones.add({Kind::kExternalSemaphore, semaphore->handle, 0, semaphore->made, at});
  }
}

// --- After the driver refused the call

void ExternalState::undo(const RarelyRetired& taken, Origin, const Surroundings& around) {
  const ExternalRetired& one = taken.external;
  if (one.memory) memories_.emplace(one.memory->handle, *one.memory);
  if (one.buffer) buffers_.emplace(one.buffer->base, *one.buffer);
  if (one.semaphore) semaphores_.emplace(one.semaphore->handle, *one.semaphore);
  const auto ended = [&](Kind kind, std::uint64_t value) {
    return around.ends.contains(kind, value);
  };
  for (const ExternalMemory& m : taken.context.memories) {
    if (!ended(Kind::kExternalMemory, m.handle)) memories_.try_emplace(m.handle, m);
  }
  for (const ExternalBuffer& b : taken.context.buffers) {
    if (!ended(Kind::kExternalBuffer, b.base)) buffers_.try_emplace(b.base, b);
  }
  for (const ExternalSemaphore& s : taken.context.semaphores) {
    if (!ended(Kind::kExternalSemaphore, s.handle)) semaphores_.try_emplace(s.handle, s);
  }
}

}  // namespace cuvmm
