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
      CUVMM_POOL_CASES(PoolExport, [](World& w, CUmemoryPool pool) { return export_(w, pool); }),
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
      CUVMM_POOL_CASES(PoolTake,
                       [](World& w, CUmemoryPool pool) { return import_pointer(w, pool); }),
      {Rule::kPoolTakeOnce,
       [](World& w, bool broken) {
         have_imported(w);
         return import_pointer(w, kImported, Token::kValid, &data_out, &pointer_out,
                               broken ? Answer::kYes : Answer::kNo);
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
