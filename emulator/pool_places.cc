// cuMemGetDefaultMemPool, cuMemGetMemPool and cuMemSetMemPool: the pools of a location, since CUDA
// 13.0.
#include "emulator/entry.h"
#include "emulator/export.h"

namespace cuvmm::emulator {

namespace {

constexpr int kHostNumaCurrent = 4;  // CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
constexpr int kManaged = 2;          // CU_MEM_ALLOCATION_TYPE_MANAGED

CUresult check(const CUmemLocation* location, CUmemAllocationType type) {
  if (!location) return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<int>(location->type) == kHostNumaCurrent || static_cast<int>(type) == kManaged) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return type == CU_MEM_ALLOCATION_TYPE_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult get(CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
             Pool* (Pools::*pool_at)(const CUmemLocation&)) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const CUresult valid = check(location, type);
    if (valid != CUDA_SUCCESS) return valid;
    const Pool* pool = (e.pools.*pool_at)(*location);
    if (!out || !pool) return CUDA_ERROR_INVALID_VALUE;
    *out = Pools::handle_of(*pool);
    return CUDA_SUCCESS;
  });
}

bool same_place(const CUmemLocation& a, const CUmemLocation& b) {
  constexpr int kHost = 2;
  return a.type == b.type && (static_cast<int>(a.type) == kHost || a.id == b.id);
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuMemGetDefaultMemPool, CUmemoryPool* pool, CUmemLocation* location,
                      CUmemAllocationType type) {
  return get(pool, location, type, &Pools::default_at);
}

CUVMM_DRIVER_FUNCTION(cuMemGetMemPool, CUmemoryPool* pool, CUmemLocation* location,
                      CUmemAllocationType type) {
  return get(pool, location, type, &Pools::current_at);
}

CUVMM_DRIVER_FUNCTION(cuMemSetMemPool, CUmemLocation* location, CUmemAllocationType type,
                      CUmemoryPool handle) {
  return locked([&](Emulator& e) -> CUresult {
    const CUresult valid = check(location, type);
    if (valid != CUDA_SUCCESS) return valid;
    const Pool* pool = e.pools.find(handle);
    if (!pool || !e.pools.default_at(*location) || !same_place(pool->prop.location, *location)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    e.pools.set_current_at(*location, *pool);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
