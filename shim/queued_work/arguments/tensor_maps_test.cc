// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/arguments/tensor_maps.h"

#include <gmock/gmock.h>

namespace cuvmm::shim {
namespace {

constexpr cuuint64_t kDims[] = {100, 10, 3};
constexpr cuuint64_t kStrides[] = {512, 8192};
constexpr auto kPlain = CU_TENSOR_MAP_INTERLEAVE_NONE;

const void* at(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

TEST(TensorRange, GoesFromTheFirstElementToTheLast) {
  const UsedRange range =
      tensor_range(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, at(0x1000), kDims, kStrides, kPlain);
  EXPECT_EQ(range.base, 0x1000u);
  EXPECT_EQ(range.size, 2 * 8192 + 9 * 512 + 100 * 4u);
}

TEST(TensorRange, OfPackedElementsIsInBits) {
  const auto size = [](int type) {
    return tensor_range(static_cast<CUtensorMapDataType>(type), 1, at(0x1000), kDims, nullptr,
                        kPlain)
        .size;
  };
  EXPECT_EQ(size(CU_TENSOR_MAP_DATA_TYPE_UINT8), 100u);
  EXPECT_EQ(size(13), 50u);
  EXPECT_EQ(size(15), 75u);
  EXPECT_EQ(size(16), 0u) << "a type that nobody knows yet";
}

TEST(TensorRange, OfWhatIsNotUnderstoodHasABeginningAlone) {
  const auto size = [](unsigned rank, const cuuint64_t* dims, const cuuint64_t* strides,
                       CUtensorMapInterleave interleave) {
    return tensor_range(CU_TENSOR_MAP_DATA_TYPE_UINT8, rank, at(0x1000), dims, strides, interleave)
        .size;
  };
  EXPECT_EQ(size(0, kDims, kStrides, kPlain), 0u);
  EXPECT_EQ(size(6, kDims, kStrides, kPlain), 0u);
  EXPECT_EQ(size(2, nullptr, kStrides, kPlain), 0u);
  EXPECT_EQ(size(2, kDims, nullptr, kPlain), 0u);
  EXPECT_EQ(size(3, kDims, kStrides, CU_TENSOR_MAP_INTERLEAVE_16B), 0u);
  constexpr cuuint64_t kHuge[] = {~cuuint64_t{0}, 1};
  EXPECT_EQ(size(1, kHuge, nullptr, kPlain), 0u);
  EXPECT_EQ(size(2, kDims, kHuge, kPlain), 0u);
}

class Maps : public testing::Test {
 protected:
  using Bytes = std::array<unsigned char, TensorMaps::kBytes>;
  static Bytes bytes(std::uint64_t number) {
    Bytes made{};
    std::memcpy(made.data(), &number, sizeof number);
    return made;
  }
  TensorMaps maps_;
};

TEST_F(Maps, AreKnownByAllTheirBytes) {
  EXPECT_FALSE(maps_.any());
  maps_.note(bytes(7).data(), {0x1000, 64});
  EXPECT_TRUE(maps_.any());
  Bytes copy = bytes(7);
  const auto found = maps_.find(copy.data());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->base, 0x1000u);
  EXPECT_EQ(found->size, 64u);
  copy.back() ^= 1;
  EXPECT_FALSE(maps_.find(copy.data()));
}

TEST_F(Maps, OneThatIsEncodedAgainIsTheNewOne) {
  maps_.note(bytes(7).data(), {0x1000, 64});
  maps_.note(bytes(7).data(), {0x2000, 64});
  EXPECT_EQ(maps_.find(bytes(7).data())->base, 0x2000u);
}

TEST_F(Maps, TheOldestAreForgotten) {
  for (std::uint64_t i = 0; i <= TensorMaps::kMost; ++i) maps_.note(bytes(i).data(), {i, 1});
  EXPECT_FALSE(maps_.find(bytes(0).data()));
  EXPECT_TRUE(maps_.find(bytes(1).data()));
  EXPECT_TRUE(maps_.find(bytes(TensorMaps::kMost).data()));
}

TEST_F(Maps, AChildOfForkBeginsWithout) {
  maps_.note(bytes(7).data(), {0x1000, 64});
  maps_.restart(true);
  EXPECT_FALSE(maps_.any());
  EXPECT_FALSE(maps_.find(bytes(7).data()));
}

}  // namespace
}  // namespace cuvmm::shim
