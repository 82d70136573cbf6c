// SPDX-License-Identifier: Apache-2.0
// Queries and settings of a pool. A pool here caches nothing, because freed memory ends at once, so
// thresholds and trims change numbers only.
#include "api/location.h"
#include "api/newer/pools.h"
#include "emulator/pool/pool_entry.h"

namespace cuvmm::emulator {

namespace {

// The attributes that came with CUDA 13.2 and 13.4; INVALID_VALUE for a number that no header
// names.
CUresult newer_attribute(const Pool& pool, int attribute, void* value) {
  const CUmemLocation& place = pool.prop().location;
  const auto number = [&](int one) {
    *static_cast<int*>(value) = one;
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case kPoolAttributeAllocationType:
      return number(static_cast<int>(pool.prop().type));
    case kPoolAttributeHandleTypes:
      return number(pool.imported() ? 0 : static_cast<int>(pool.prop().requestedHandleTypes));
    case kPoolAttributeLocationId:
      return number(is_domain(place) ? locality_domain(place).device : place.id);
    case kPoolAttributeLocationType:
      return number(static_cast<int>(place.type));
    case kPoolAttributeMaxSize:
      *static_cast<cuuint64_t*>(value) = pool.max_size();
      return CUDA_SUCCESS;
    case kPoolAttributeHwDecompress:
      return number(pool.decompressed_into());
    case kPoolAttributeDomain:
      return number(is_domain(place) ? locality_domain(place).domain : -1);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

void add_facts(const Emulator& e, const calls::MemPoolGetAttribute& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemPoolGetAttribute& call, const Facts&,
                 const Retired&) {
  const Pool* pool = e.pools.find(call.pool);
  if (!pool || !call.value) return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = [&](std::uint64_t number) {
    *static_cast<cuuint64_t*>(call.value) = number;
    return CUDA_SUCCESS;
  };
  switch (call.attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(call.value) =
          pool->reuse(call.attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return bytes(pool->release_threshold());
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return bytes(pool->reserved());
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return bytes(pool->reserved_high());
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return bytes(pool->used());
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return bytes(pool->used_high());
    default:
      return newer_attribute(*pool, static_cast<int>(call.attr), call.value);
  }
}

void add_facts(const Emulator& e, const calls::MemPoolSetAttribute& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemPoolSetAttribute& call, const Facts&,
                 const Retired&) {
  Pool* pool = e.pools.find(call.pool);
  if (!pool || !call.value) return CUDA_ERROR_INVALID_VALUE;
  switch (call.attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->set_reuse(call.attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                      *static_cast<const int*>(call.value) != 0);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->set_release_threshold(*static_cast<const cuuint64_t*>(call.value));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      pool->reset_reserved_high();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      pool->reset_used_high();
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void add_facts(const Emulator& e, const calls::MemPoolTrimTo& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemPoolTrimTo& call, const Facts&, const Retired&) {
  Pool* pool = e.pools.find(call.pool);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  pool->trim(call.minBytesToKeep);
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::MemPoolGetAccess& call, Facts& facts) {
  find_pool(e, call.memPool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemPoolGetAccess& call, const Facts&, const Retired&) {
  if (!call.memPool || !call.flags || !call.location) return CUDA_ERROR_INVALID_VALUE;
  const Pool* pool = e.pools.find(call.memPool);
  const CUmemLocation& place = *call.location;
  const int device = device_of(place);
  if (!is_host(place) && !e.valid_device(device)) return CUDA_ERROR_INVALID_VALUE;
  if (!pool) {  // the pool was destroyed, and its own device's access is queried (recorded)
    *call.flags = e.pools.lay_on(call.memPool, device) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                       : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  }
  if (pool->managed()) {
    // Every device may use managed memory: documented for cuMemAllocManaged, and not documented for
    // pools.
    *call.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
  }
  if (is_host(place)) {
    const bool own = !is_device(pool->prop().location);
    *call.flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  }
  const bool own = device_of(pool->prop().location) == device;
  const unsigned unset = own ? unsigned{CU_MEM_ACCESS_FLAGS_PROT_READWRITE} : 0u;
  *call.flags = static_cast<CUmemAccess_flags>(pool->access(device).value_or(unset));
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
