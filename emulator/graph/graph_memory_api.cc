// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/graph_memory.h"

#include <algorithm>

#include "api/sizes.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {

NodeMemory::~NodeMemory() {
  if (reserved) Emulator::get().space.give_back(base, size);
}

CUresult NodeMemory::allocate(Emulator& e) {
  if (e.plain.find(base)) return CUDA_ERROR_INVALID_VALUE;  // launched again, never freed
  const Size pages = (size + kPage - 1) / kPage * kPage;
  if (pages > e.devices.free(prop.location.id)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!reserved) {
    const auto taken = e.space.take(size, 0, base);
    if (taken && *taken != base) e.space.give_back(*taken, size);
    if (taken != base) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  reserved = false;
  e.plain.put({.base = base,
               .size = size,
               .context = e.current_context(),
               .memory = Physical(pages, prop, false, pages, e.devices.account(prop.location.id)),
               .pool = pool});
  e.pools.took(pool, size);
  return CUDA_SUCCESS;
}

CUresult NodeMemory::release(Emulator& e, Address address) {
  const PlainAllocation* found = e.plain.find(address);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  e.pools.freed(found->pool, found->size, true);
  e.plain.end(address);
  return CUDA_SUCCESS;
}

GraphMemory& GraphMemory::of(int device) {
  static auto* const all = new std::map<int, GraphMemory>;
  return (*all)[device];
}

namespace {

// What a pool of an H200 takes at a time; of graphs no driver was asked.
Size in_chunks(Size bytes) {
  constexpr Size kChunk = Size{32} << 20;
  return (bytes + kChunk - 1) / kChunk * kChunk;
}

template <class Body>
CUresult on_device(CUdevice device, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return body(GraphMemory::of(device));
  });
}

}  // namespace

void GraphMemory::take(Size bytes) {
  used += in_chunks(bytes);
  reserved = std::max(reserved, used);
  used_high = std::max(used_high, used);
  reserved_high = std::max(reserved_high, reserved);
}

void GraphMemory::leave(Size bytes) { used -= std::min(used, in_chunks(bytes)); }

CUVMM_DRIVER_FUNCTION(cuDeviceGetGraphMemAttribute, CUdevice device, CUgraphMem_attribute which,
                      void* value) {
  return on_device(device, [&](const GraphMemory& memory) -> CUresult {
    const std::uint64_t told[] = {memory.used, memory.used_high, memory.reserved,
                                  memory.reserved_high};
    static_assert(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH == 1 && CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH == 3);
    if (!value || static_cast<unsigned>(which) >= std::size(told)) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<cuuint64_t*>(value) = told[which];
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceSetGraphMemAttribute, CUdevice device, CUgraphMem_attribute which,
                      void* value) {
  return on_device(device, [&](GraphMemory& memory) -> CUresult {
    // A high-water mark can only be reset.
    if (!value || *static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
      memory.used_high = memory.used;
    } else if (which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
      memory.reserved_high = memory.reserved;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceGraphMemTrim, CUdevice device) {
  return on_device(device, [&](GraphMemory& memory) -> CUresult {
    memory.reserved = memory.used;
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
