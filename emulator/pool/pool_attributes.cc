// SPDX-License-Identifier: Apache-2.0
// What can be asked of a pool and set on it. Nothing is cached: what is freed is gone at once, so
// thresholds and trimming change numbers only.
#include "api/location.h"
#include "emulator/context/captured.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {

namespace {

template <class Body>
CUresult on_pool(CUmemoryPool handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Pool* pool = e.pools.find(handle);
    return pool ? body(e, *pool) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuMemPoolGetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute,
                      void* value) {
  return on_pool(handle, [&](Emulator&, Pool& pool) -> CUresult {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    const auto bytes = [&](std::uint64_t number) {
      *static_cast<cuuint64_t*>(value) = number;
      return CUDA_SUCCESS;
    };
    switch (attribute) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *static_cast<int*>(value) =
            pool.reuse(attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return bytes(pool.release_threshold());
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return bytes(pool.reserved());
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return bytes(pool.reserved_high());
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return bytes(pool.used());
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return bytes(pool.used_high());
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUVMM_DRIVER_FUNCTION(cuMemPoolSetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute,
                      void* value) {
  return on_pool(handle, [&](Emulator&, Pool& pool) -> CUresult {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool.set_reuse(attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                       *static_cast<const int*>(value) != 0);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool.set_release_threshold(*static_cast<const cuuint64_t*>(value));
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        // A high-water mark can only be reset.
        if (*static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
          pool.reset_used_high();
        } else {
          pool.reset_reserved_high();
        }
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUVMM_DRIVER_FUNCTION(cuMemPoolTrimTo, CUmemoryPool handle, size_t keep) {
  if (const CUresult refused = refuse_unsafe_in_capture(); refused != CUDA_SUCCESS) {
    return refused;
  }
  return on_pool(handle, [&](Emulator&, Pool& pool) {
    pool.trim(keep);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemPoolGetAccess, CUmemAccess_flags* flags, CUmemoryPool handle,
                      CUmemLocation* location) {
  return on_pool(handle, [&](Emulator& e, Pool& pool) -> CUresult {
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    const int type = static_cast<int>(location->type);
    const bool device = type == CU_MEM_LOCATION_TYPE_DEVICE && e.valid_device(location->id);
    if (pool.managed() && (device || type == kLocationHost || type == kLocationHostNuma)) {
      // Managed memory is everyone's; documented for cuMemAllocManaged, and of its pools nothing.
      *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      return CUDA_SUCCESS;
    }
    if (type == kLocationHost || type == kLocationHostNuma) {
      const bool own = pool.prop().location.type != CU_MEM_LOCATION_TYPE_DEVICE;
      *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
      return CUDA_SUCCESS;
    }
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    const bool own = pool.on_device() && pool.prop().location.id == location->id;
    const unsigned unset = own ? unsigned{CU_MEM_ACCESS_FLAGS_PROT_READWRITE} : 0u;
    *flags = static_cast<CUmemAccess_flags>(pool.access(location->id).value_or(unset));
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
