// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing {

namespace {

constexpr Address kMemory = 0x7200'0000'0000;
using Answer = Facts::Answer;
using Token = Facts::Token;

CUmemoryPool pool_of(std::uintptr_t value) { return reinterpret_cast<CUmemoryPool>(value); }
const CUmemoryPool kPool = pool_of(0x500);
const CUmemoryPool kImported = pool_of(0x600);

CUmemPoolProps props(unsigned handle_types = 1) {
  CUmemPoolProps p{};
  p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.handleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  return p;
}

CUmemoryPool pool_out;
CUdeviceptr pointer_out;
CUmemPoolPtrExportData data_out;

Violations create(World& w, const CUmemPoolProps& p) {
  return check(w.model, calls::MemPoolCreate{.pool = &pool_out, .poolProps = &p});
}
/// With the properties as `change` leaves them where it is broken.
template <class Change>
Violations create(World& w, bool broken, Change change) {
  CUmemPoolProps p = props();
  if (broken) change(p);
  return create(w, p);
}

void made(World& w, const CUmemPoolProps& p) {
  CUmemoryPool out = kPool;
  w.accept(calls::MemPoolCreate{.pool = &out, .poolProps = &p});
}
void have(World& w, unsigned handle_types = 1, bool exported = true) {
  made(w, props(handle_types));
  calls::MemPoolExportToShareableHandle call{};
  call.pool = kPool;
  if (exported) w.accept(call);
}
void have_imported(World& w) {
  CUmemoryPool out = kImported;
  calls::MemPoolImportFromShareableHandle call{};
  call.pool_out = &out;
  w.accept(call);
}
void allocate(World& w, CUmemoryPool pool = kPool) {
  CUdeviceptr out = kMemory;
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &out, .bytesize = 4096, .pool = pool});
}
void destroy(World& w, CUmemoryPool pool = kPool) { w.accept(calls::MemPoolDestroy{.pool = pool}); }

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
const CUmemoryPool kOfPoolDestroy = kPool, kOfPoolAlloc = kPool, kOfPoolExport = kPool,
                   kOfPoolTake = kImported, kOfPoolAccess = kPool, kOfPoolSet = kPool;

Violations alloc(World& w, CUmemoryPool pool, Facts facts = {}, std::size_t size = 64,
                 CUdeviceptr* out = &pointer_out) {
  return check(w.model, calls::MemAllocFromPoolAsync{.dptr = out, .bytesize = size, .pool = pool},
               facts);
}
int fd_out;
Violations export_(World& w, CUmemoryPool pool, unsigned type = 1, unsigned long long flags = 0,
                   void* out = &fd_out) {
  return check(w.model, calls::MemPoolExportToShareableHandle{
                            .handle_out = out,
                            .pool = pool,
                            .handleType = static_cast<CUmemAllocationHandleType>(type),
                            .flags = flags});
}
Violations import(World& w, unsigned type = 1, Answer valid = Answer::kYes,
                  unsigned long long flags = 0, CUmemoryPool* out = &pool_out,
                  Answer kind = Answer::kUnknown) {
  Facts facts;
  facts.sharing.descriptor_valid = valid;
  facts.sharing.descriptor_kind = kind;
  return check(w.model,
               calls::MemPoolImportFromShareableHandle{
                   .pool_out = out,
                   .handle = reinterpret_cast<void*>(std::uintptr_t{5}),
                   .handleType = static_cast<CUmemAllocationHandleType>(type),
                   .flags = flags},
               facts);
}
Violations export_pointer(World& w, Address ptr = kMemory,
                          CUmemPoolPtrExportData* out = &data_out) {
  return check(w.model, calls::MemPoolExportPointer{.shareData_out = out, .ptr = ptr});
}
Violations import_pointer(World& w, CUmemoryPool pool, Token token = Token::kValid,
                          CUmemPoolPtrExportData* data = &data_out, CUdeviceptr* out = &pointer_out,
                          Answer imported_before = Answer::kNo) {
  Facts facts;
  facts.pool.token = token;
  facts.pool.imported_before = imported_before;
  return check(w.model,
               calls::MemPoolImportPointer{.ptr_out = out, .pool = pool, .shareData = data}, facts);
}
Violations set_access(World& w, CUmemoryPool pool, CUmemAccessDesc desc = access_desc(),
                      bool null = false) {
  return check(w.model,
               calls::MemPoolSetAccess{.pool = pool, .map = null ? nullptr : &desc, .count = 1});
}
Violations set_pool(World& w, CUmemoryPool pool, int device = 0) {
  return check(w.model, calls::DeviceSetMemPool{.dev = device, .pool = pool});
}
Violations destroy_check(World& w, CUmemoryPool pool, Answer is_default = Answer::kNo,
                         Answer held_elsewhere = Answer::kNo) {
  Facts facts;
  facts.pool.held_elsewhere = held_elsewhere;
  facts.pool.is_default = is_default;
  return check(w.model, calls::MemPoolDestroy{.pool = pool}, facts);
}
Violations at_exit(World& w) {
  return check_exit(w.model, [](const Export&) { return false; });
}

}  // namespace

std::vector<RuleCase> pool_cases() {
  std::vector<RuleCase> cases = {
      {Rule::kPoolCreateOutNonnull,
       [](World& w, bool broken) {
         const CUmemPoolProps p = props();
         return check(w.model,
                      calls::MemPoolCreate{.pool = broken ? nullptr : &pool_out, .poolProps = &p});
       }},
      {Rule::kPoolCreatePropsNonnull,
       [](World& w, bool broken) {
         const CUmemPoolProps p = props();
         return check(w.model,
                      calls::MemPoolCreate{.pool = &pool_out, .poolProps = broken ? nullptr : &p});
       }},
      {Rule::kPoolCreateType,
       [](World& w, bool broken) {
         return create(w, broken,
                       [](auto& p) { p.allocType = static_cast<CUmemAllocationType>(0); });
       }},
      {Rule::kPoolCreateLocationType,
       [](World& w, bool broken) {
         return create(w, broken,
                       [](auto& p) { p.location.type = static_cast<CUmemLocationType>(4); });
       }},
      {Rule::kPoolCreateLocationDevice,
       [](World& w, bool broken) { return create(w, broken, [](auto& p) { p.location.id = 2; }); }},
      {Rule::kPoolCreateLocationNode,
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
         p.location.id = broken ? 1 : 0;
         return create(w, p);
       }},
      {Rule::kPoolCreateHostHandleTypes,
       [](World& w, bool broken) {
         CUmemPoolProps p = props(broken ? 1 : 0);
         p.location.type = static_cast<CUmemLocationType>(2);
         return create(w, p);
       }},
      {Rule::kPoolCreateLocationType,  // nowhere is a place for managed memory only
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.allocType = static_cast<CUmemAllocationType>(broken ? 1 : 2);
         p.location.type = static_cast<CUmemLocationType>(0);
         return create(w, p);
       }},
      {Rule::kPoolCreateHostHandleTypes,  // wherever managed memory prefers to be
       [](World& w, bool broken) {
         CUmemPoolProps p = props(broken ? 1 : 0);
         p.allocType = static_cast<CUmemAllocationType>(2);
         return create(w, p);
       }},
      {Rule::kPoolSetLocal,  // a managed pool is no device's, wherever it prefers to be
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.allocType = static_cast<CUmemAllocationType>(broken ? 2 : 1);
         made(w, p);
         return set_pool(w, kPool);
       }},
      {Rule::kPoolAccessOwn,  // and no device's own
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.allocType = static_cast<CUmemAllocationType>(broken ? 1 : 2);
         made(w, p);
         return set_access(w, kPool, access_desc(0, 0));
       }},
      {Rule::kPoolCreateHandleTypes,
       [](World& w, bool broken) { return create(w, props(broken ? 2 : 1)); }},
      {Rule::kPoolCreateFabric,
       [](World& w, bool broken) {
         w.model.platform().handle_types = 9;
         return create(w, props(broken ? 8 : 1));
       }},
      {Rule::kPoolCreateWin32,
       [](World& w, bool broken) {
         return create(w, broken, [](auto& p) { p.win32SecurityAttributes = &p; });
       }},
      {Rule::kPoolCreateReserved,
       [](World& w, bool broken) {
         return create(w, broken, [](auto& p) { p.reserved[53] = 1; });
       }},
      {Rule::kPoolLeak,
       [](World& w, bool broken) {
         have(w);
         allocate(w);
         if (broken) w.accept(calls::MemFreeAsync{.dptr = kMemory});
         return at_exit(w);
       }},
      CUVMM_POOL_CASES(PoolDestroy,
                       [](World& w, CUmemoryPool pool) { return destroy_check(w, pool); }),
      {Rule::kPoolDestroyDefault,
       [](World& w, bool broken) {
         have(w);
         return broken ? destroy_check(w, pool_of(0x700), Answer::kYes) : destroy_check(w, kPool);
       }},
      {Rule::kPoolAllocOutNonnull,
       [](World& w, bool broken) {
         have(w);
         return alloc(w, kPool, {}, 64, broken ? nullptr : &pointer_out);
       }},
      {Rule::kPoolAllocSize,
       [](World& w, bool broken) {
         have(w);
         return alloc(w, kPool, {}, broken ? 0 : 1);
       }},
      CUVMM_POOL_CASES(PoolAlloc, [](World& w, CUmemoryPool pool) { return alloc(w, pool); }),
      {Rule::kPoolAllocImported,
       [](World& w, bool broken) {
         have(w);
         have_imported(w);
         return alloc(w, broken ? kImported : kPool);
       }},
      {Rule::kPoolAllocContext,
       [](World& w, bool broken) {
         have(w);
         Facts facts;
         facts.place.context = broken ? Answer::kNo : Answer::kYes;
         return alloc(w, kPool, facts);
       }},
      {Rule::kPoolExportOutNonnull,
       [](World& w, bool broken) {
         have(w);
         return export_(w, kPool, 1, 0, broken ? nullptr : &fd_out);
       }},
      {Rule::kPoolExportFlags,
       [](World& w, bool broken) {
         have(w);
         return export_(w, kPool, 1, broken ? 1 : 0);
       }},
      CUVMM_POOL_CASES(PoolExport, [](World& w, CUmemoryPool pool) { return export_(w, pool); }),
      {Rule::kPoolExportNotImported,
       [](World& w, bool broken) {
         have(w);
         have_imported(w);
         return export_(w, broken ? kImported : kPool);
       }},
      {Rule::kPoolExportType,
       [](World& w, bool broken) {
         have(w, broken ? 0 : 1);
         return export_(w, kPool);
       }},
      {Rule::kPoolImportOutNonnull,
       [](World& w, bool broken) {
         return import(w, 1, Answer::kYes, 0, broken ? nullptr : &pool_out);
       }},
      {Rule::kPoolImportFlags,
       [](World& w, bool broken) { return import(w, 1, Answer::kYes, broken ? 1 : 0); }},
      {Rule::kPoolImportType, [](World& w, bool broken) { return import(w, broken ? 3 : 1); }},
      {Rule::kPoolImportNonzero,
       [](World& w, bool broken) {
         Facts facts;
         facts.sharing.descriptor_valid = Answer::kYes;
         return check(w.model,
                      calls::MemPoolImportFromShareableHandle{
                          .pool_out = &pool_out,
                          .handle = reinterpret_cast<void*>(std::uintptr_t{broken ? 0u : 3u}),
                          .handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                          .flags = 0},
                      facts);
       }},
      {Rule::kPoolImportTypeSupported,
       [](World& w, bool broken) { return import(w, broken ? 2 : 1); }},
      {Rule::kPoolImportDescriptor,
       [](World& w, bool broken) { return import(w, 1, broken ? Answer::kNo : Answer::kYes); }},
      {Rule::kPoolImportKind,
       [](World& w, bool broken) {
         return import(w, 1, broken ? Answer::kNo : Answer::kYes, 0, &pool_out,
                       broken ? Answer::kNo : Answer::kUnknown);
       }},
      {Rule::kPoolPointerOutNonnull,
       [](World& w, bool broken) {
         have(w);
         allocate(w);
         return export_pointer(w, kMemory, broken ? nullptr : &data_out);
       }},
      {Rule::kPoolPointerValid,
       [](World& w, bool broken) {
         have(w);
         allocate(w);
         if (broken) w.accept(calls::MemFreeAsync{.dptr = kMemory});
         return export_pointer(w);
       }},
      {Rule::kPoolPointerBase,
       [](World& w, bool broken) {
         have(w);
         allocate(w);
         return export_pointer(w, broken ? kMemory + 64 : kMemory);
       }},
      {Rule::kPoolDestroyImported,
       [](World& w, bool broken) {
         have_imported(w);
         CUdeviceptr out = kMemory;
         w.accept(calls::MemPoolImportPointer{.ptr_out = &out, .pool = kImported});
         if (!broken) w.accept(calls::MemFree{.dptr = kMemory});
         return destroy_check(w, kImported);
       }},
      {Rule::kPoolDestroyImported,  // by another import of the pool
       [](World& w, bool broken) {
         have_imported(w);
         return destroy_check(w, kImported, Answer::kNo, broken ? Answer::kYes : Answer::kNo);
       }},
      {Rule::kPoolPointerShareable,
       [](World& w, bool broken) {
         have(w, broken ? 0 : 1);
         allocate(w);
         return export_pointer(w);
       }},
      {Rule::kPoolPointerExported,
       [](World& w, bool broken) {
         have(w, 1, !broken);
         allocate(w);
         return export_pointer(w);
       }},
      {Rule::kPoolTakeOutNonnull,
       [](World& w, bool broken) {
         have_imported(w);
         return import_pointer(w, kImported, Token::kValid, &data_out,
                               broken ? nullptr : &pointer_out);
       }},
      {Rule::kPoolTakeDataNonnull,
       [](World& w, bool broken) {
         have_imported(w);
         return import_pointer(w, kImported, Token::kValid, broken ? nullptr : &data_out);
       }},
      CUVMM_POOL_CASES(PoolTake,
                       [](World& w, CUmemoryPool pool) { return import_pointer(w, pool); }),
      {Rule::kPoolTakeImported,
       [](World& w, bool broken) {
         have(w);
         have_imported(w);
         return import_pointer(w, broken ? kPool : kImported);
       }},
      {Rule::kPoolTakeData,
       [](World& w, bool broken) {
         have_imported(w);
         return import_pointer(w, kImported, broken ? Token::kForged : Token::kValid);
       }},
      {Rule::kPoolTakeOnce,
       [](World& w, bool broken) {
         have_imported(w);
         return import_pointer(w, kImported, Token::kValid, &data_out, &pointer_out,
                               broken ? Answer::kYes : Answer::kNo);
       }},
      {Rule::kPoolTakeAlive,
       [](World& w, bool broken) {
         have_imported(w);
         return import_pointer(w, kImported, broken ? Token::kEnded : Token::kValid);
       }},
      CUVMM_POOL_CASES(PoolAccess, [](World& w, CUmemoryPool pool) { return set_access(w, pool); }),
      {Rule::kPoolAccessMap,
       [](World& w, bool broken) {
         have(w);
         return set_access(w, kPool, access_desc(), broken);
       }},
      {Rule::kPoolAccessLocationType,
       [](World& w, bool broken) {
         have(w);
         return set_access(w, kPool, access_desc(3, 0, broken ? 2 : 1));
       }},
      {Rule::kPoolAccessLocationDevice,
       [](World& w, bool broken) {
         have(w);
         CUmemAccessDesc desc = access_desc();
         if (broken) desc.location.id = 9;
         return set_access(w, kPool, desc);
       }},
      {Rule::kPoolAccessFlags,
       [](World& w, bool broken) {
         have(w);
         return set_access(w, kPool, access_desc(broken ? 2 : 3));
       }},
      {Rule::kPoolAccessReadOnly,
       [](World& w, bool broken) {
         have(w);
         return set_access(w, kPool, access_desc(broken ? 1 : 3));
       }},
      {Rule::kPoolAccessOwn,
       [](World& w, bool broken) {
         have(w);
         return set_access(w, kPool, access_desc(0, broken ? 0 : 1));
       }},
      {Rule::kPoolAccessOwn,  // of a default pool
       [](World& w, bool broken) {
         Facts facts;
         facts.pool.is_default = Answer::kYes;
         facts.pool.default_device = broken ? 1 : 0;
         const CUmemAccessDesc desc = access_desc(0, 1);
         return check(w.model, calls::MemPoolSetAccess{.pool = kPool, .map = &desc, .count = 1},
                      facts);
       }},
      {Rule::kPoolAccessLocationType,  // the host's own memory
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.location.type = CU_MEM_LOCATION_TYPE_HOST;
         made(w, p);
         return set_access(w, kPool, access_desc(broken ? 0 : 3, 0, 2));
       }},
      {Rule::kPoolSetDevice,
       [](World& w, bool broken) {
         have(w);
         return set_pool(w, kPool, broken ? 9 : 0);
       }},
      CUVMM_POOL_CASES(PoolSet, [](World& w, CUmemoryPool pool) { return set_pool(w, pool); }),
      {Rule::kPoolSetImported,
       [](World& w, bool broken) {
         have(w);
         have_imported(w);
         return set_pool(w, broken ? kImported : kPool);
       }},
      {Rule::kPoolSetLocal,
       [](World& w, bool broken) {
         have(w);
         return set_pool(w, kPool, broken ? 1 : 0);
       }},
  };
#if CUDA_VERSION >= 13000
  cases.push_back({Rule::kPoolCreateUsage, [](World& w, bool broken) {
                     return create(w, broken, [](auto& p) { p.usage = 1; });
                   }});
#endif
  return cases;
}

namespace {

TEST(PoolModel, ARefusedFreeKeepsTheMemory) {
  World w;
  have(w);
  allocate(w);
  const calls::MemFreeAsync call{.dptr = kMemory};
  w.refuse(call);
  EXPECT_NE(w.model.pools().memory_at(kMemory + 1), nullptr);
  EXPECT_EQ(w.model.pools().taken_from(reinterpret_cast<std::uintptr_t>(kPool)), 1u);
}

TEST(PoolModel, ADestroyedPoolIsNobodysCurrentPool) {
  World w;
  have(w);
  w.accept(calls::DeviceSetMemPool{.dev = 0, .pool = kPool});
  EXPECT_TRUE(at_exit(w).empty()) << "the current pool of a device is in use";
  destroy(w);
  EXPECT_TRUE(w.model.pools().current().empty());
}

TEST(PoolModel, WhatWasNeverSeenIsUncertain) {
  World w;
  w.model.platform().complete = false;
  for (const Violations& v : {destroy_check(w, pool_of(0x999)), export_pointer(w)}) {
    ASSERT_EQ(v.size(), 1u);
    EXPECT_FALSE(v[0].certain) << v[0].message;
  }
}

}  // namespace
}  // namespace cuvmm::testing
