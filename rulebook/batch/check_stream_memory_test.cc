// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/batch/operations.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_stream_memory_test {
namespace {

constexpr std::uint64_t kG = kGranule;

Facts on_device() {
  Facts facts;
  facts.place.device = 0;
  return facts;
}

CUstreamBatchMemOpParams write_of(CUdeviceptr address) {
  CUstreamBatchMemOpParams one{};
  one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  one.writeValue.address = address;
  return one;
}

CUstreamBatchMemOpParams addition(CUdeviceptr address) {
  CUstreamBatchMemOpParams one{};
  StreamAtomicReduction& reduction = reduction_of(one);
  reduction.operation = kStreamMemOpAtomicReduction;
  reduction.reduction = kReductionAdd;
  reduction.data_type = kReduction64;
  reduction.address = address;
  return one;
}

// A mapping, and behind it a reservation without mappings.
void mapped(World& w) {
  w.mapped(kBase, 1);
  w.reserve(kBase + kG, 1);
}

// A write and an addition inside one mapping; `change` makes one mistake.
template <class Change>
Violations batch(World& w, Change change) {
  mapped(w);
  CUstreamBatchMemOpParams operations[] = {write_of(kBase), addition(kBase + 64)};
  calls::StreamBatchMemOp call{.count = 2, .paramArray = operations};
  change(call);
  return check(w.model, call, on_device());
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kDataWritable,  // the host has access, but the device is to write
       [](World& w, bool broken) {
         CUmemAllocationProp prop = device_prop();
         prop.location.type = static_cast<CUmemLocationType>(2);
         w.create(0x100, 1, prop);
         w.reserve(kBase, 1);
         w.map(kBase, 1, 0x100);
         w.access(kBase, 1, 3, 0, 2);
         if (!broken) w.access(kBase, 1);
         return check(w.model, calls::StreamWriteValue32{.addr = kBase}, on_device());
       }},
      {Rule::kDataMapped,  // one operation of a batch
       [](World& w, bool broken) {
         return batch(w, [&](calls::StreamBatchMemOp& call) {
           reduction_of(call.paramArray[1]).address = kBase + (broken ? kG : 0);
         });
       }},
      {Rule::kStreamMemCount,
       [](World& w, bool broken) {
         std::vector<CUstreamBatchMemOpParams> many(256, write_of(kBase));
         return batch(w, [&](calls::StreamBatchMemOp& call) {
           call.paramArray = many.data();
           call.count = broken ? 256 : 255;
         });
       }},
  };
}
const ListedCases kListed(cases);

TEST(CheckStreamMemory, AnOperationThatNobodyKnowsIsNotCalledWrong) {
  World w;
  EXPECT_TRUE(batch(w, [&](calls::StreamBatchMemOp& call) {
                call.paramArray[0].operation = static_cast<CUstreamBatchMemOpType>(99);
              }).empty());
}

// The word may lie in page-locked memory, or in memory of another library.
TEST(CheckStreamMemory, AWordOfAStrangerIsNotCalledWrong) {
  World w;
  EXPECT_TRUE(check(w.model, calls::StreamWriteValue32{.addr = 0x123000}, on_device()).empty());
}

}  // namespace
}  // namespace cuvmm::testing::check_stream_memory_test
