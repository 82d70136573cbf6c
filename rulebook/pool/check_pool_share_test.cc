// SPDX-License-Identifier: Apache-2.0
// Pools and memory of pools that other processes import from here, or that come from them.
#include <gtest/gtest.h>

#include "rulebook/testing/pool_world.h"

namespace cuvmm::testing::check_pool_share_test {
namespace {

using namespace pool_world;

using Answer = Facts::Answer;
using Token = Facts::Token;

CUmemPoolPtrExportData data_out;
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

std::vector<RuleCase> cases() {
  return {
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
      {Rule::kPoolDestroyImported,  // another import of the pool holds memory
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
  };
}
const ListedCases kListed(cases);

TEST(PoolModel, APointerThatWasNeverSeenIsUncertain) {
  World w;
  w.model.platform().complete = false;
  const Violations v = export_pointer(w);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_FALSE(v[0].certain) << v[0].message;
}

}  // namespace
}  // namespace cuvmm::testing::check_pool_share_test
