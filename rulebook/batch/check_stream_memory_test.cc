// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/batch/operations.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_stream_memory_test {
namespace {

constexpr std::uint64_t kG = kGranule;
constexpr std::uint64_t kPoolMemory = 0x500000000000;

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

void pool_memory(World& w, int type) {
  CUmemPoolProps props{};
  props.allocType = static_cast<CUmemAllocationType>(type);
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  auto pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x9000});
  CUdeviceptr memory = kPoolMemory;
  w.accept(calls::MemPoolCreate{.pool = &pool, .poolProps = &props});
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &memory, .bytesize = 4096, .pool = pool});
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kDataMapped,
       [](World& w, bool broken) {
         mapped(w);
         return check(w.model, calls::StreamWriteValue32{.addr = kBase + kG - (broken ? 0 : 4)},
                      on_device());
       }},
      {Rule::kDataMapped,
       [](World& w, bool broken) {
         mapped(w);
         if (broken) w.unmap(kBase, 1);
         return check(w.model, calls::StreamWaitValue64{.addr = kBase}, on_device());
       }},
      {Rule::kDataReadable,
       [](World& w, bool broken) {
         mapped(w);
         if (broken) w.access(kBase, 1, 0);
         return check(w.model, calls::StreamWaitValue32{.addr = kBase}, on_device());
       }},
      {Rule::kDataWritable,
       [](World& w, bool broken) {
         mapped(w);
         if (broken) w.access(kBase, 1, 1);
         return check(w.model, calls::StreamWriteValue64{.addr = kBase}, on_device());
       }},
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
      {Rule::kStreamMemAligned,
       [](World& w, bool broken) {
         mapped(w);
         return check(w.model, calls::StreamWriteValue64{.addr = kBase + (broken ? 4 : 8)},
                      on_device());
       }},
      {Rule::kStreamMemAligned,
       [](World& w, bool broken) {
         mapped(w);
         return check(w.model, calls::StreamWaitValue32{.addr = kBase + (broken ? 2 : 4)},
                      on_device());
       }},
      {Rule::kStreamMemManaged,
       [](World& w, bool broken) {
         mapped(w);
         pool_memory(w, 2);
         return check(w.model, calls::StreamWriteValue32{.addr = broken ? kPoolMemory : kBase},
                      on_device());
       }},
      {Rule::kStreamMemPool,
       [](World& w, bool broken) {
         pool_memory(w, 1);
         CUdeviceptr memory = kPoolMemory + kG;
         w.accept(calls::MemAlloc{.dptr = &memory, .bytesize = 4096});
         return check(w.model, calls::StreamWriteValue32{.addr = broken ? kPoolMemory + 4 : memory},
                      on_device());
       }},
      {Rule::kStreamMemManaged,
       [](World& w, bool broken) {
         CUdeviceptr memory = 0x123000;
         if (broken) {
           w.accept(calls::MemAllocManaged{.dptr = &memory, .bytesize = 4096, .flags = 1});
         } else {
           w.accept(calls::MemAlloc{.dptr = &memory, .bytesize = 4096});
         }
         return check(w.model, calls::StreamWaitValue32{.addr = memory}, on_device());
       }},
      {Rule::kStreamMemArray,
       [](World& w, bool broken) {
         return batch(w, [&](calls::StreamBatchMemOp& call) {
           call.paramArray = nullptr;
           if (!broken) call.count = 0;
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
      {Rule::kStreamMemFlags,
       [](World& w, bool broken) {
         return batch(w, [&](calls::StreamBatchMemOp& call) { call.flags = broken ? 1 : 0; });
       }},
      {Rule::kStreamMemFlags,
       [](World& w, bool broken) {
         return batch(w, [&](calls::StreamBatchMemOp& call) {
           call.paramArray[0] = {};
           call.paramArray[0].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
           call.paramArray[0].flushRemoteWrites.flags = broken ? 1 : 0;
         });
       }},
      {Rule::kStreamMemFlags,
       [](World& w, bool broken) {
         return batch(w, [&](calls::StreamBatchMemOp& call) {
           reduction_of(call.paramArray[1]).flags = broken ? 1 : 0;
         });
       }},
      {Rule::kStreamMemReduction,
       [](World& w, bool broken) {
         return batch(w, [&](calls::StreamBatchMemOp& call) {
           reduction_of(call.paramArray[1]).reduction = broken ? 7 : kReductionOr;
         });
       }},
      {Rule::kStreamMemReduction,
       [](World& w, bool broken) {
         return batch(w, [&](calls::StreamBatchMemOp& call) {
           reduction_of(call.paramArray[1]).data_type = broken ? 0 : kReduction32;
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
