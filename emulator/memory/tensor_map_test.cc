// SPDX-License-Identifier: Apache-2.0
// Tensor maps are made of their arguments, and of nothing else.
#include <cstring>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class TensorMapTest : public EmulatorTest {
 protected:
  CUresult encode(CUtensorMap* map) {
    calls::TensorMapEncodeTiled call{};
    call.tensorMap = map;
    call.tensorDataType = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    call.tensorRank = rank_;
    call.globalAddress = reinterpret_cast<void*>(address_);
    call.globalDim = dims_;
    call.globalStrides = strides_;
    call.boxDim = box_;
    call.elementStrides = steps_;
    return driver()(call);
  }
  static bool same(const CUtensorMap& a, const CUtensorMap& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  cuuint32_t rank_ = 2;
  std::uintptr_t address_ = 0x700000000000;
  cuuint64_t dims_[2] = {64, 32};
  cuuint64_t strides_[1] = {256};
  cuuint32_t box_[2] = {16, 16}, steps_[2] = {1, 1};
};

TEST_F(TensorMapTest, TheSameArgumentsMakeTheSameMap) {
  CUtensorMap first, second, other;
  std::memset(&first, 1, sizeof first);
  std::memset(&second, 2, sizeof second);
  ASSERT_OK(encode(&first));
  ASSERT_OK(encode(&second));
  EXPECT_TRUE(same(first, second));
  ++dims_[1];
  ASSERT_OK(encode(&other));
  EXPECT_FALSE(same(first, other));
}

TEST_F(TensorMapTest, AnotherAddressMakesTheMapThatItWouldHaveMade) {
  CUtensorMap moved, made;
  ASSERT_OK(encode(&moved));
  address_ += 4096;
  ASSERT_OK(encode(&made));
  EXPECT_FALSE(same(moved, made));
  void* const there = reinterpret_cast<void*>(address_);
  ASSERT_OK(driver()(calls::TensorMapReplaceAddress{&moved, there}));
  EXPECT_TRUE(same(moved, made));
  void* const odd = reinterpret_cast<void*>(address_ + 8);
  EXPECT_EQ(driver()(calls::TensorMapReplaceAddress{&moved, odd}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TensorMapTest, WhatIsOutOfPlaceIsRefused) {
  CUtensorMap maps[2];
  EXPECT_EQ(encode(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(maps) + 8)),
            CUDA_ERROR_INVALID_VALUE);
  const auto refused = [&] { return encode(maps) == CUDA_ERROR_INVALID_VALUE; };
  address_ += 8;
  EXPECT_TRUE(refused());
  address_ -= 8;
  rank_ = 6;
  EXPECT_TRUE(refused());
  rank_ = 2;
  strides_[0] = 24;
  EXPECT_TRUE(refused());
  strides_[0] = 256;
  box_[1] = 257;
  EXPECT_TRUE(refused());
  box_[1] = 16;
  steps_[0] = 0;
  EXPECT_TRUE(refused());
  steps_[0] = 1;
  EXPECT_OK(encode(maps));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
