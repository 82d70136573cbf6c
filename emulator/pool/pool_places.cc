// SPDX-License-Identifier: Apache-2.0
// cuMemGetDefaultMemPool, cuMemGetMemPool and cuMemSetMemPool: the pools of a location, since CUDA
// 13.0.
#include "api/location.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {

namespace {

// Answers about managed memory are the documented ones; none was measured.
CUresult check(const CUmemLocation* location, CUmemAllocationType type) {
  if (!location) return CUDA_ERROR_INVALID_VALUE;
  const bool managed = static_cast<int>(type) == Pool::kManaged;
  if (managed) return CUDA_SUCCESS;
  if (static_cast<int>(location->type) == kLocationHostNumaCurrent) return CUDA_ERROR_NOT_SUPPORTED;
  return type == CU_MEM_ALLOCATION_TYPE_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult get(CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
             Pool* (Pools::*pool_at)(const CUmemLocation&, CUmemAllocationType)) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const CUresult valid = check(location, type);
    if (valid != CUDA_SUCCESS) return valid;
    const Pool* pool = (e.pools.*pool_at)(*location, type);
    if (!out || !pool) return CUDA_ERROR_INVALID_VALUE;
    *out = Pools::handle_of(*pool);
    return CUDA_SUCCESS;
  });
}

bool same_place(const CUmemLocation& a, const CUmemLocation& b) {
  const int type = static_cast<int>(a.type);
  return a.type == b.type && (type == kLocationHost || type == 0 || a.id == b.id);
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
    const bool fits = pool && pool->prop().type == type && e.pools.default_at(*location, type) &&
                      same_place(pool->prop().location, *location);
    if (!fits) return CUDA_ERROR_INVALID_VALUE;
    e.pools.set_current_at(*location, *pool);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
