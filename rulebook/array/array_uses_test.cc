// SPDX-License-Identifier: Apache-2.0
#include "rulebook/array/array_uses.h"

#include <gmock/gmock.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::array_uses_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const CUarray kArray = reinterpret_cast<CUarray>(std::uintptr_t{0x50});

void make(World& w, std::size_t width = 16, std::size_t height = 8, std::size_t depth = 0,
          unsigned flags = 0) {
  CUarray out = kArray;
  const CUDA_ARRAY3D_DESCRIPTOR shape{width, height, depth, CU_AD_FORMAT_FLOAT, 1, flags};
  w.accept(calls::Array3DCreate{.pHandle = &out, .pAllocateArray = &shape});
}

template <class CallStruct>
Violations look(const World& w, const CallStruct& call) {
  ArrayUse uses[kMostArrayUses];
  const std::size_t count = array_uses(call, uses);
  return check_array_uses(w.model, uses, count);
}
template <class CallStruct>
std::vector<Rule> wrong(const World& w, const CallStruct& call) {
  std::vector<Rule> rules;
  for (const Violation& v : look(w, call)) {
    EXPECT_FALSE(v.certain);
    EXPECT_EQ(v.objects.size(), 1u);
    rules.push_back(v.rule);
  }
  return rules;
}

calls::MemcpyHtoA row(std::size_t offset, std::size_t bytes) {
  return {.dstArray = kArray, .dstOffset = offset, .srcHost = nullptr, .ByteCount = bytes};
}
CUDA_MEMCPY3D box(std::size_t width, std::size_t height, std::size_t depth) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = kArray;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.WidthInBytes = width;
  copy.Height = height;
  copy.Depth = depth;
  return copy;
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kArrayAlive,
       [](World& w, bool broken) {
         make(w);
         if (broken) w.accept(calls::ArrayDestroy{.hArray = kArray});
         return look(w, row(0, 4));
       }},
      {Rule::kArrayInside,
       [](World& w, bool broken) {
         make(w);
         return look(w, row(0, broken ? 65 : 64));
       }},
  };
}
const ListedCases kListed(cases);

TEST(ArrayUses, ACopyWithoutRowsStaysInTheFirst) {
  World w;
  EXPECT_THAT(wrong(w, row(0, 1000)), IsEmpty()) << "nothing is known of it";
  make(w);
  EXPECT_THAT(wrong(w, row(60, 4)), IsEmpty());
  EXPECT_THAT(wrong(w, row(60, 8)), ElementsAre(Rule::kArrayInside));
  EXPECT_THAT(wrong(w, row(64, 0)), IsEmpty()) << "copies nothing";
  EXPECT_THAT(wrong(w, row(~std::size_t{0}, 4)), ElementsAre(Rule::kArrayInside));
}

TEST(ArrayUses, RowsAndSlices) {
  World w;
  make(w, 16, 8, 3);
  CUDA_MEMCPY3D copy = box(64, 8, 3);
  const auto broken = [&] { return wrong(w, calls::Memcpy3D{.pCopy = &copy}); };
  EXPECT_THAT(broken(), IsEmpty());
  copy.srcY = 1;
  EXPECT_THAT(broken(), ElementsAre(Rule::kArrayInside));
  copy.Height = 7;
  EXPECT_THAT(broken(), IsEmpty());
  copy.srcZ = 1;
  EXPECT_THAT(broken(), ElementsAre(Rule::kArrayInside));
  copy.Depth = 0;
  EXPECT_THAT(broken(), IsEmpty());
}

// A copy of an array without rows copies one row; layers are slices.
TEST(ArrayUses, FlatOnesAndLayers) {
  World w;
  make(w, 16, 0, 4, CUDA_ARRAY3D_LAYERED);
  CUDA_MEMCPY3D copy = box(64, 1, 4);
  EXPECT_THAT(wrong(w, calls::Memcpy3D{.pCopy = &copy}), IsEmpty());
  copy.Depth = 5;
  EXPECT_THAT(wrong(w, calls::Memcpy3D{.pCopy = &copy}), ElementsAre(Rule::kArrayInside));
}

TEST(ArrayUses, ABatchCountsElements) {
  World w;
  make(w);
  CUDA_MEMCPY3D_BATCH_OP copy{};
  copy.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  copy.dst.op.array.array = kArray;
  copy.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  copy.extent = {16, 8, 1};
  EXPECT_THAT(wrong(w, copy), IsEmpty());
  copy.dst.op.array.offset.x = 1;
  EXPECT_THAT(wrong(w, copy), ElementsAre(Rule::kArrayInside));
}

TEST(ArrayUses, BornAgain) {
  World w;
  make(w);
  w.accept(calls::ArrayDestroy{.hArray = kArray});
  EXPECT_THAT(wrong(w, row(0, 4)), ElementsAre(Rule::kArrayAlive));
  make(w);
  EXPECT_THAT(wrong(w, row(0, 4)), IsEmpty());
}

TEST(ArrayUses, LevelsHaveTheirOwnSizeAndEndWithTheirArray) {
  World w;
  auto whole = reinterpret_cast<CUmipmappedArray>(std::uintptr_t{0x90});
  const CUmipmappedArray mipmap = whole;
  const CUDA_ARRAY3D_DESCRIPTOR shape{16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  w.accept(calls::MipmappedArrayCreate{
      .pHandle = &whole, .pMipmappedArrayDesc = &shape, .numMipmapLevels = 2});
  CUarray level = kArray;
  w.accept(
      calls::MipmappedArrayGetLevel{.pLevelArray = &level, .hMipmappedArray = mipmap, .level = 1});
  EXPECT_THAT(wrong(w, row(0, 32)), IsEmpty());
  EXPECT_THAT(wrong(w, row(0, 33)), ElementsAre(Rule::kArrayInside));
  w.accept(calls::MipmappedArrayDestroy{.hMipmappedArray = mipmap});
  EXPECT_THAT(wrong(w, row(0, 4)), ElementsAre(Rule::kArrayAlive));
}

}  // namespace
}  // namespace cuvmm::testing::array_uses_test
