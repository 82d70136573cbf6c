// SPDX-License-Identifier: Apache-2.0
// Calls about stream-ordered pools in a World, for tests.
#pragma once

#include "rulebook/testing/world.h"

namespace cuvmm::testing {

namespace pool_world {

inline constexpr Address kMemory = 0x7200'0000'0000;

inline CUmemoryPool pool_of(std::uintptr_t value) { return reinterpret_cast<CUmemoryPool>(value); }
inline const CUmemoryPool kPool = pool_of(0x500);
inline const CUmemoryPool kImported = pool_of(0x600);

inline CUmemPoolProps props(unsigned handle_types = 1) {
  CUmemPoolProps p{};
  p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.handleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  return p;
}

inline CUmemoryPool pool_out;
inline CUdeviceptr pointer_out;

inline void made(World& w, const CUmemPoolProps& p) {
  CUmemoryPool out = kPool;
  w.accept(calls::MemPoolCreate{.pool = &out, .poolProps = &p});
}
inline void have(World& w, unsigned handle_types = 1, bool exported = true) {
  made(w, props(handle_types));
  calls::MemPoolExportToShareableHandle call{};
  call.pool = kPool;
  if (exported) w.accept(call);
}
inline void have_imported(World& w) {
  CUmemoryPool out = kImported;
  calls::MemPoolImportFromShareableHandle call{};
  call.pool_out = &out;
  w.accept(call);
}
inline void allocate(World& w, CUmemoryPool pool = kPool) {
  CUdeviceptr out = kMemory;
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &out, .bytesize = 4096, .pool = pool});
}
inline void destroy(World& w, CUmemoryPool pool = kPool) {
  w.accept(calls::MemPoolDestroy{.pool = pool});
}

/// The two rules of every call that takes a pool: run(world, pool) performs its check.
#define CUVMM_POOL_CASES(Name, ...)                              \
  {Rule::k##Name##PoolValid,                                     \
   [](World& w, bool broken) {                                   \
     have(w);                                                    \
     have_imported(w);                                           \
     const auto run = __VA_ARGS__;                               \
     return broken ? run(w, pool_of(0x999)) : run(w, kOf##Name); \
   }},                                                           \
  {                                                              \
    Rule::k##Name##PoolAlive, [](World& w, bool broken) {        \
      have(w);                                                   \
      have_imported(w);                                          \
      if (broken) destroy(w, kOf##Name);                         \
      const auto run = __VA_ARGS__;                              \
      return run(w, kOf##Name);                                  \
    }                                                            \
  }
inline const CUmemoryPool kOfPoolDestroy = kPool, kOfPoolAlloc = kPool, kOfPoolExport = kPool,
                          kOfPoolTake = kImported, kOfPoolAccess = kPool, kOfPoolSet = kPool;
inline Violations destroy_check(World& w, CUmemoryPool pool,
                                Facts::Answer is_default = Facts::Answer::kNo,
                                Facts::Answer held_elsewhere = Facts::Answer::kNo) {
  Facts facts;
  facts.pool.held_elsewhere = held_elsewhere;
  facts.pool.is_default = is_default;
  return check(w.model, calls::MemPoolDestroy{.pool = pool}, facts);
}

}  // namespace pool_world
}  // namespace cuvmm::testing
