// SPDX-License-Identifier: Apache-2.0
// Queries and settings of a device's memory for graphs.
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

template <class Body>
CUresult on_device(CUdevice device, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    e.graph_memory.look([&](Address address) { return e.plain.find(address) != nullptr; });
    return body(e.graph_memory);
  });
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuDeviceGetGraphMemAttribute, CUdevice device, CUgraphMem_attribute which,
                      void* value) {
  return on_device(device, [&](const GraphMemory& memory) -> CUresult {
    const auto answer = memory.value(device, which);
    if (!value || !answer) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<cuuint64_t*>(value) = *answer;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceSetGraphMemAttribute, CUdevice device, CUgraphMem_attribute which,
                      void* value) {
  return on_device(device, [&](GraphMemory& memory) -> CUresult {
    // A high-water mark can only be set to 0.
    if (!value || *static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    return memory.reset(device, which) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceGraphMemTrim, CUdevice device) {
  return on_device(device, [&](GraphMemory& memory) -> CUresult {
    memory.trim(device);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
