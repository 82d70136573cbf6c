// SPDX-License-Identifier: Apache-2.0
// The model's part for external memory, external semaphores and sparse arrays.
#include <algorithm>
#include <utility>

#include "rulebook/model/model.h"

namespace cuvmm {

namespace {

template <class Object>
std::uint64_t number(Object object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

/// Takes what `key` names out of the table, into what `taken` of the retired is.
template <class Table, class Key, class Taken>
void take_out(Table& table, Key key, Retired& retired, Taken ExternalRetired::*taken) {
  const auto found = table.find(key);
  if (found == table.end()) return;
  retired.more().external.*taken = found->second;
  table.erase(found);
}

bool by_descriptor(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc) {
  const auto type = static_cast<unsigned>(desc.type);
  return type == external_type::kOpaqueFd || type == external_type::kDmaBufFd;
}
bool by_descriptor(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC& desc) {
  const auto type = static_cast<unsigned>(desc.type);
  return type == external_type::kOpaqueFd || type == external_type::kTimelineFd;
}

}  // namespace

void Model::retire(const calls::DestroyExternalMemory& call, Retired& retired) {
  ends_meanwhile_.note(ObjectRef::Kind::kExternalMemory, number(call.extMem));
  take_out(external_.memories, number(call.extMem), retired, &ExternalRetired::memory);
}

void Model::retire(const calls::DestroyExternalSemaphore& call, Retired& retired) {
  ends_meanwhile_.note(ObjectRef::Kind::kExternalSemaphore, number(call.extSem));
  take_out(external_.semaphores, number(call.extSem), retired, &ExternalRetired::semaphore);
}

void Model::retire_external_buffer(Address base, Retired& retired) {
  take_out(external_.buffers, base, retired, &ExternalRetired::buffer);
}

void Model::restore(const ExternalRetired& retired) {
  if (retired.memory) external_.memories.emplace(retired.memory->handle, *retired.memory);
  if (retired.buffer) external_.buffers.emplace(retired.buffer->base, *retired.buffer);
  if (retired.semaphore) {
    external_.semaphores.emplace(retired.semaphore->handle, *retired.semaphore);
  }
}

void Model::bury(const ExternalRetired& retired, Origin at) {
  if (const auto& memory = retired.memory) {
    tombstones_.add(
        {ObjectRef::Kind::kExternalMemory, memory->handle, memory->size, memory->made, at});
    for (auto& [base, buffer] : external_.buffers) {
      if (buffer.memory != memory->handle || buffer.memory_ended) continue;
      buffer.memory_ended = true;
      buffer.ended = at;
    }
  }
  if (const auto& buffer = retired.buffer) {
    tombstones_.add(
        {ObjectRef::Kind::kExternalBuffer, buffer->base, buffer->size, buffer->made, at});
  }
  if (const auto& semaphore = retired.semaphore) {
    tombstones_.add(
        {ObjectRef::Kind::kExternalSemaphore, semaphore->handle, 0, semaphore->made, at});
  }
}

void Model::give_away(int fd, Origin at) {
  external_.given[fd] = at;
  exports_.erase(fd);
}

void Model::opened(int fd) {
  external_.given.erase(fd);
  exports_.erase(fd);
}

void Model::commit(const calls::MemGetHandleForAddressRange& call, Origin) {
  if (call.handleType == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) {
    opened(*static_cast<const int*>(call.handle));
  }
}

void Model::commit(const calls::ImportExternalMemory& call, const Facts& facts, Origin at) {
  const std::uint64_t handle = number(*call.extMem_out);
  const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc = *call.memHandleDesc;
  tombstones_.forget(ObjectRef::Kind::kExternalMemory, handle);
  external_.memories[handle] = {.handle = handle,
                                .type = static_cast<unsigned>(desc.type),
                                .size = desc.size,
                                .object_size = facts.object_size,
                                .dedicated = (desc.flags & CUDA_EXTERNAL_MEMORY_DEDICATED) != 0,
                                .device = facts.device,
                                .context = facts.context_id,
                                .made = at};
  if (by_descriptor(desc)) give_away(desc.handle.fd, at);
}

void Model::commit(const calls::ExternalMemoryGetMappedBuffer& call, Origin at) {
  ExternalBuffer buffer;
  buffer.base = *call.devPtr;
  buffer.size = call.bufferDesc->size;
  buffer.memory = number(call.extMem);
  const auto memory = external_.memories.find(buffer.memory);
  if (memory != external_.memories.end()) {
    buffer.device = memory->second.device;
    buffer.context = memory->second.context;
  }
  buffer.made = at;
  tombstones_.forget(ObjectRef::Kind::kExternalBuffer, buffer.base);
  // An overlap means that the old buffer ended by a route we did not see: with its context, say.
  auto& buffers = external_.buffers;
  auto it = buffers.upper_bound(buffer.base);
  if (it != buffers.begin()) --it;
  while (it != buffers.end() && it->first < buffer.base + buffer.size) {
    const bool same = overlap(it->first, it->second.size, buffer.base, buffer.size);
    it = same ? buffers.erase(it) : std::next(it);
  }
  buffers[buffer.base] = buffer;
}

void Model::commit(const calls::ImportExternalSemaphore& call, const Facts& facts, Origin at) {
  const std::uint64_t handle = number(*call.extSem_out);
  const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC& desc = *call.semHandleDesc;
  tombstones_.forget(ObjectRef::Kind::kExternalSemaphore, handle);
  ExternalSemaphore semaphore;
  semaphore.handle = handle;
  semaphore.type = static_cast<unsigned>(desc.type);
  semaphore.device = facts.device;
  semaphore.context = facts.context_id;
  semaphore.made = at;
  external_.semaphores[handle] = semaphore;
  if (by_descriptor(desc)) give_away(desc.handle.fd, at);
}

void Model::commit(const calls::SignalExternalSemaphoresAsync& call, Origin) {
  for (unsigned i = 0; i < call.numExtSems; ++i) {
    const auto found = external_.semaphores.find(number(call.extSemArray[i]));
    if (found == external_.semaphores.end()) continue;
    found->second.any_signal = true;
    found->second.signalled =
        std::max<std::uint64_t>(found->second.signalled, call.paramsArray[i].params.fence.value);
  }
}

void Model::commit(const calls::MemMapArrayAsync& call, Origin at) {
  for (unsigned i = 0; i < call.count; ++i) tiles_.commit(call.mapInfoList[i], at);
}

}  // namespace cuvmm
