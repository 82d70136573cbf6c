// SPDX-License-Identifier: Apache-2.0
// The common part of the flows. Each flow repeats, step by step, how a client of the driver uses
// memory, and prints every call that it makes. It exits with 0 when the answers and the contents
// are right, 1 when not, 77 when it cannot run here. `// expects:` is described in
// ../../examples/expectation.py.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/bugs/bug.h"

namespace flow {

/// Prints a condition that does not hold, and fails the flow.
inline void hold(const char* what, bool holds) {
  if (holds) return;
  std::printf("  (not so: %s)\n", what);
  ++bug::differences;
}
#define HOLD(condition) flow::hold(#condition, (condition))

/// Whether `size` bytes of device memory are all `value`.
inline bool filled(CUdeviceptr address, std::size_t size, unsigned char value) {
  std::vector<unsigned char> bytes(size);
  if (cuMemcpyDtoH(bytes.data(), address, size) != CUDA_SUCCESS) return false;
  for (const unsigned char byte : bytes) {
    if (byte != value) return false;
  }
  return true;
}

inline int attribute(CUdevice_attribute which, int ordinal = 0) {
  int value = 0;
  return cuDeviceGetAttribute(&value, which, ordinal) == CUDA_SUCCESS ? value : 0;
}

/// Memory of cuMemCreate, mapped for device 0.
struct Mapped {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::size_t size = 0;
};

inline void map_at(CUdeviceptr address, std::size_t size, CUmemGenericAllocationHandle handle) {
  const CUmemAccessDesc access = bug::access_from(0);
  MUST(cuMemMap(address, size, 0, handle, 0));
  MUST(cuMemSetAccess(address, size, &access, 1));
}

inline Mapped map_new(std::size_t size, CUmemAllocationHandleType types = CU_MEM_HANDLE_TYPE_NONE) {
  const CUmemAllocationProp prop = bug::memory_on(0, types);
  Mapped m{0, 0, size};
  MUST(cuMemCreate(&m.handle, size, &prop, 0));
  MUST(cuMemAddressReserve(&m.address, size, 0, 0, 0));
  map_at(m.address, size, m.handle);
  return m;
}

/// Unmaps the memory and frees the address; the caller still has to release the handle.
inline void unmap(CUdeviceptr address, std::size_t size) {
  SAW(CUDA_SUCCESS, cuMemUnmap(address, size));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, size));
}

/// A pool of device 0 whose memory can be shared by `types`.
inline CUmemoryPool make_pool(CUmemAllocationHandleType types = CU_MEM_HANDLE_TYPE_NONE,
                              std::size_t most = 0) {
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = types;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.maxSize = most;
  CUmemoryPool pool = nullptr;
  MUST(cuMemPoolCreate(&pool, &props));
  return pool;
}

inline std::uint64_t pool_value(CUmemoryPool pool, CUmemPool_attribute which) {
  cuuint64_t value = 0;
  MUST(cuMemPoolGetAttribute(pool, which, &value));
  return value;
}

}  // namespace flow
