// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/batch/operations.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_copy_test {
namespace {

constexpr std::uint64_t kG = kGranule;

Facts on_device() {
  Facts facts;
  facts.place.device = 0;
  return facts;
}

// A mapping, and behind it a reservation without mappings.
void mapped(World& w, std::uint64_t granules) {
  w.mapped(kBase, granules);
  w.reserve(kBase + granules * kG, 1);
}

// Two copies inside one mapping, without a mistake; `change` makes one.
struct Batch {
  CUdeviceptr to[2] = {kBase, kBase + 64};
  CUdeviceptr from[2] = {kBase + kG, kBase + kG};
  std::size_t sizes[2] = {8, 8};
  CUmemcpyAttributes attributes[2]{};
  std::size_t first[2] = {0, 1};
  calls::MemcpyBatchAsync_v2 call;

  Batch() {
    attributes[0].srcAccessOrder = attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    call = {.dsts = to,
            .srcs = from,
            .sizes = sizes,
            .count = 2,
            .attrs = attributes,
            .attrsIdxs = first,
            .numAttrs = 2,
            .hStream = CU_STREAM_PER_THREAD};
  }
};
template <class Change>
Violations batch(World& w, Change change) {
  mapped(w, 2);
  Batch one;
  change(one);
  return check(w.model, one.call, on_device());
}

// Four rows of 16 bytes from one mapping to another.
CUDA_MEMCPY3D_BATCH_OP deep_copy() {
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.dst.type = op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.dst.op.ptr.ptr = kBase;
  op.src.op.ptr.ptr = kBase + kG;
  op.extent = {.width = 16, .height = 4, .depth = 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  return op;
}
template <class Change>
Violations deep(World& w, Change change, unsigned long long flags = 0,
                CUstream stream = CU_STREAM_PER_THREAD) {
  mapped(w, 2);
  CUDA_MEMCPY3D_BATCH_OP op = deep_copy();
  change(op);
  return check(
      w.model,
      calls::Memcpy3DBatchAsync_v2{.numOps = 1, .opList = &op, .flags = flags, .hStream = stream},
      on_device());
}

// Memory with these usage bits, mapped.
void map_usage(World& w, unsigned short usage) {
  CUmemAllocationProp prop = device_prop();
  prop.allocFlags.usage = usage;
  w.create(0x100, 1, prop);
  w.reserve(kBase, 2);
  w.map(kBase, 1, 0x100);
  w.access(kBase, 1);
}

template <class Change>
Violations decompress(World& w, Address at, Change change) {
  CUmemDecompressParams one{};
  one.srcNumBytes = 16;
  one.src = reinterpret_cast<const void*>(at);
  one.dst = reinterpret_cast<void*>(at + 64);
  one.dstActBytes = reinterpret_cast<cuuint32_t*>(at + 128);
  one.algo = CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE;
  calls::MemBatchDecompressAsync call{.paramsArray = &one, .count = 1};
  change(call);
  return check(w.model, call, on_device());
}
constexpr auto kAsIs = [](auto&) {};

std::vector<RuleCase> cases() {
  return {
      {Rule::kDataMapped,  // the second copy of a batch
       [](World& w, bool broken) {
         return batch(w, [&](Batch& b) { b.to[1] = kBase + (broken ? 2 * kG - 4 : 64); });
       }},
      {Rule::kDriverInitialized,
       [](World& w, bool broken) {
         Facts facts = on_device();
         facts.initialized = broken ? Facts::Answer::kNo : Facts::Answer::kYes;
         mapped(w, 2);
         return check(w.model, Batch().call, facts);
       }},
      {Rule::kCopyArrays,  // the attributes are an array, too
       [](World& w, bool broken) {
         return batch(w, [&](Batch& b) {
           if (broken) b.call.attrs = nullptr;
         });
       }},
      {Rule::kCopyRows,
       [](World& w, bool broken) {
         return deep(
             w, [&](CUDA_MEMCPY3D_BATCH_OP& op) { op.src.op.ptr.rowLength = broken ? 15 : 16; });
       }},
      {Rule::kCopyRows,
       [](World& w, bool broken) {
         return deep(
             w, [&](CUDA_MEMCPY3D_BATCH_OP& op) { op.dst.op.ptr.layerHeight = broken ? 3 : 4; });
       }},
      {Rule::kCopyBatchStream,  // under a per-thread name, NULL is another stream
       [](World& w, bool broken) {
         mapped(w, 2);
         Batch one;
         one.call.hStream = nullptr;
         Facts facts = on_device();
         facts.place.per_thread = !broken;
         return check(w.model, one.call, facts);
       }},
      {Rule::kDataMapped,  // the last row of a 3D copy
       [](World& w, bool broken) {
         return deep(w, [&](CUDA_MEMCPY3D_BATCH_OP& op) {
           op.src.op.ptr.ptr = kBase + 2 * kG - (3 * 32 + 16);
           op.src.op.ptr.rowLength = broken ? 33 : 32;
         });
       }},
      {Rule::kDataMapped,  // the pointer of a copy from an array
       [](World& w, bool broken) {
         return deep(w, [&](CUDA_MEMCPY3D_BATCH_OP& op) {
           op.src = {};
           op.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
           op.dst.op.ptr.ptr = kBase + (broken ? 2 * kG : kG);
         });
       }},
      {Rule::kCopyAttributesNonnull,
       [](World& w, bool broken) {
         mapped(w, 1);
         Batch one;
         return check(w.model,
                      calls::MemcpyWithAttributesAsync{.dst = kBase,
                                                       .src = kBase + 64,
                                                       .size = 8,
                                                       .attr = broken ? nullptr : one.attributes},
                      on_device());
       }},
      {Rule::kCopyAttributesNonnull,
       [](World& w, bool broken) {
         mapped(w, 2);
         CUDA_MEMCPY3D_BATCH_OP op = deep_copy();
         return check(w.model, calls::Memcpy3DWithAttributesAsync{.op = broken ? nullptr : &op},
                      on_device());
       }},
      {Rule::kDataMapped,  // the place for the written size
       [](World& w, bool broken) {
         map_usage(w, 2);
         return decompress(w, kBase, [&](calls::MemBatchDecompressAsync& call) {
           call.paramsArray[0].dstActBytes =
               reinterpret_cast<cuuint32_t*>(kBase + kG - (broken ? 0 : 4));
         });
       }},
  };
}
const ListedCases kListed(cases);

TEST(CheckCopy, SaysWhichCopyOfABatchIsWrong) {
  World w;
  const Violations found = batch(w, [](Batch& b) { b.to[1] = kBase + 2 * kG; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().message.rfind("copy 1: dst: ", 0), 0u) << found.front().message;
}

TEST(CheckCopy, ASingleCopyHasNoNumber) {
  World w;
  mapped(w, 1);
  Batch one;
  const Violations found =
      check(w.model,
            calls::MemcpyWithAttributesAsync{
                .dst = kBase + kG, .src = kBase, .size = 8, .attr = one.attributes},
            on_device());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().message.rfind("dst: ", 0), 0u) << found.front().message;
}

TEST(CheckCopy, MemoryOfAStrangerIsNotCalledUnfitForDecompression) {
  World w;
  EXPECT_TRUE(decompress(w, 0x123000, kAsIs).empty());
}

TEST(CheckCopy, OfALongBatchTheFirstMistakesAreFound) {
  World w;
  w.reserve(kBase, 1);
  std::vector<CUdeviceptr> to(1000, kBase), from(1000, 0x5000);
  std::vector<std::size_t> sizes(1000, 16);
  Batch one;
  one.call.dsts = to.data();
  one.call.srcs = from.data();
  one.call.sizes = sizes.data();
  one.call.count = 1000;
  EXPECT_EQ(check(w.model, one.call, on_device()).size(), 16u);
}

}  // namespace
}  // namespace cuvmm::testing::check_copy_test
