// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/plain_allocations.h"
#include "api/sizes.h"

#include <gtest/gtest.h>

#include <vector>

namespace cuvmm::emulator {
namespace {

PlainAllocation of(Size size, Size offset = 0) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return {
      .size = size, .memory = Physical(size + offset, prop, false, 0, nullptr), .offset = offset};
}

class PlainAllocationsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(space_.open()); }
  AddressSpace space_;
  PlainAllocations plain_{space_};
};

TEST_F(PlainAllocationsTest, FindsWhatHoldsAnAddress) {
  const PlainAllocation* one = plain_.add(of(100));
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(plain_.at(one->base), one);
  EXPECT_EQ(plain_.at(one->base + 99), one);
  EXPECT_EQ(plain_.at(one->base + 100), nullptr);
  EXPECT_EQ(plain_.at(one->base - 1), nullptr);
  EXPECT_EQ(plain_.find(one->base), one);
  EXPECT_EQ(plain_.find(one->base + 1), nullptr);
  EXPECT_TRUE(plain_.begins_behind(one->base - 1, 2));
  EXPECT_FALSE(plain_.begins_behind(one->base - 1, 1));
  EXPECT_FALSE(plain_.begins_behind(one->base, kGranule)) << "not behind itself";
}

TEST_F(PlainAllocationsTest, AnOffsetMovesTheBaseWithinItsRegion) {
  const PlainAllocation* buffer = plain_.add(of(kGranule, 512));
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(buffer->base % kGranule, 512u);
  EXPECT_EQ(buffer->region(), buffer->base - 512);
  EXPECT_EQ(buffer->region_size(), kGranule + 512);
}

TEST_F(PlainAllocationsTest, TheEndGivesTheRegionBack) {
  const Address base = plain_.add(of(kGranule, 512))->base;
  const Address region = base - 512;
  const auto beside = space_.take(kGranule, 0, region);
  ASSERT_TRUE(beside);
  EXPECT_NE(*beside, region) << "it is taken";
  plain_.end(base);
  plain_.end(base);  // no allocation begins there, which is no mistake
  EXPECT_EQ(plain_.at(base), nullptr);
  EXPECT_EQ(space_.take(kGranule, 0, region), region);
}

TEST_F(PlainAllocationsTest, EndsThoseThatAreSoAndTellsOfEach) {
  const Address one = plain_.add(of(1))->base, two = plain_.add(of(2))->base;
  std::vector<Size> sizes;
  plain_.end_if([](const PlainAllocation& each) { return each.size == 2; },
                [&](const PlainAllocation& each) { sizes.push_back(each.size); });
  EXPECT_EQ(sizes, std::vector<Size>{2});
  EXPECT_NE(plain_.find(one), nullptr);
  EXPECT_EQ(plain_.find(two), nullptr);
}

}  // namespace
}  // namespace cuvmm::emulator
