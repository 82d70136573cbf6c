// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/device_memory.h"

#include <algorithm>

#include "api/location.h"

namespace cuvmm::emulator {

// Memory of cuMemAlloc and related calls. Memory of another device needs the context's peer access,
// memory of a pool the pool's access.
bool DeviceMemory::reaches(const PlainAllocation& memory) const {
  if (memory.managed || !memory.on_device()) return true;
  const int device = context_.device;
  if (const PoolMemory* of_pool = e_.model.pools().bounded_memory_at(memory.base)) {
    const bool own = is_device(of_pool->location) && device_of(of_pool->location) == device;
    return own || (e_.model.pools().access_to(*of_pool) >> device & 1);
  }
  if (memory.context && memory.context->device == device) return true;
  if (device_of(memory.memory.prop().location) == device) return true;
  return std::any_of(context_.peers.begin(), context_.peers.end(), [&](const Context* peer) {
    return peer->alive && memory.context && peer->device == memory.context->device;
  });
}

kernels::Memory::Window DeviceMemory::rights(std::uint64_t address) const {
  if (const Mapping* mapping = e_.model.mapping_at(address)) {
    if (e_.teams.find(mapping->handle)) return {};  // only multimem instructions reach it
    const std::uint64_t bit = std::uint64_t{1} << context_.device;
    return {mapping->base, mapping->base + mapping->size, nullptr,
            (mapping->access.read & bit) != 0, (mapping->access.write & bit) != 0};
  }
  if (const PlainAllocation* plain = e_.plain.at(address)) {
    const bool all = reaches(*plain);
    return {plain->base, plain->base + plain->size, nullptr, all, all};
  }
  if (const HostBlock* block = e_.host.at(address)) {
    const bool sealed = block->registered && (block->flags & CU_MEMHOSTREGISTER_READ_ONLY);
    return {block->base, block->base + block->size, nullptr, true, !sealed};
  }
  return {};
}

kernels::Memory::Window DeviceMemory::find(std::uint64_t address) {
  Window window = rights(address);
  if (!window.read && !window.write) return {};
  // Touches a chunk at a time, because touched memory takes memory of the host.
  const std::uint64_t chunk = address >> kChunkBits << kChunkBits;
  window.begin = std::max(window.begin, chunk);
  window.end = std::min(window.end, chunk + (std::uint64_t{1} << kChunkBits));
  Size run = window.end - window.begin;
  window.bytes = e_.resolve(window.begin, &run, true);
  if (!window.bytes) return {};
  if (e_.kernel_checks().init) {
    Physical* const memory = e_.memory_at(window.begin, &run, &window.written_at);
    if (memory) window.written = memory->written().bits();
  }
  window.end = window.begin + run;
  return window;
}

std::string DeviceMemory::why_not(std::uint64_t address, unsigned size, bool writes) {
  const std::string device = "device " + std::to_string(context_.device);
  const Window window = rights(address);
  if (window.end > window.begin && !(writes ? window.write : window.read)) {
    return device + " has no " + (writes ? "write" : "read") + " access to what lies there";
  }
  if (window.end > window.begin && window.end - address < size) {
    return "only " + std::to_string(window.end - address) + " bytes are left there";
  }
  if (window.end > window.begin) return "the memory behind it has ended, or the host has none left";
  if (e_.model.mapping_at(address)) return "only multimem instructions reach a multicast object";
  if (e_.model.reservation_at(address)) return "nothing is mapped there, though it is reserved";
  if (e_.space.owns(address, 1)) return "nothing is there";
  return "it is no memory that " + device + " reaches";
}

}  // namespace cuvmm::emulator
