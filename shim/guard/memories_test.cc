// SPDX-License-Identifier: Apache-2.0
#include "shim/guard/memories.h"

#include <gmock/gmock.h>

namespace cuvmm::shim {
namespace {

constexpr std::uint64_t kMemoryPage = 2 << 20;
constexpr std::uint64_t kMemoryAt = 0x700000000000;

class MemoriesTest : public testing::Test {
 protected:
  void map(std::uint64_t base, std::uint64_t size, std::uint64_t handle) {
    memories_.map({base, size, memories_.find(handle)});
  }
  Memories memories_;
};

TEST_F(MemoriesTest, EndWithTheirLastReferenceAndMapping) {
  memories_.created(7);
  map(kMemoryAt, kMemoryPage, 7);
  const auto memory = memories_.find(7);
  ASSERT_TRUE(memory);
  memories_.retained(9, kMemoryAt + 5);
  memories_.released(7);
  EXPECT_EQ(memory->references, 1u);
  memories_.released(9);
  EXPECT_EQ(memory->references, 0u);
  EXPECT_EQ(memory->mappings, 1u);
  memories_.created(7);
  EXPECT_NE(memories_.find(7), memory) << "the value is another memory's";
  bool whole = false;
  EXPECT_EQ(memories_.take(kMemoryAt, kMemoryPage, whole).size(), 1u);
  EXPECT_TRUE(whole);
  EXPECT_EQ(memory->mappings, 0u);
}

TEST_F(MemoriesTest, AreSharedByExportAndImport) {
  memories_.created(1);
  memories_.share(1);
  EXPECT_TRUE(memories_.find(1)->shared);
  memories_.imported(2);
  EXPECT_TRUE(memories_.find(2)->shared);
  memories_.created(3);
  map(kMemoryAt, kMemoryPage, 3);
  memories_.share_mapped(kMemoryAt - kMemoryPage, kMemoryPage);
  EXPECT_FALSE(memories_.find(3)->shared);
  memories_.share_mapped(kMemoryAt + 1, 1);
  EXPECT_TRUE(memories_.find(3)->shared);
}

TEST_F(MemoriesTest, ARefusedReleaseDidNotHappen) {
  memories_.created(1);
  const auto memory = memories_.find(1);
  memories_.released(1);
  memories_.restore(1, memory);
  EXPECT_EQ(memories_.find(1), memory);
  EXPECT_EQ(memory->references, 1u);
}

TEST_F(MemoriesTest, OnlyWholeMappingsAreTaken) {
  memories_.created(1);
  map(kMemoryAt, 2 * kMemoryPage, 1);
  map(kMemoryAt + 2 * kMemoryPage, kMemoryPage, 1);
  EXPECT_TRUE(memories_.mapped(kMemoryAt + kMemoryPage, 1));
  EXPECT_FALSE(memories_.mapped(kMemoryAt + 3 * kMemoryPage, kMemoryPage));
  EXPECT_FALSE(memories_.mapped(kMemoryAt - kMemoryPage, kMemoryPage));
  EXPECT_EQ(memories_.inside(kMemoryAt + kMemoryPage, 2 * kMemoryPage).size(), 1u);
  bool whole = true;
  const auto taken = memories_.take(kMemoryAt + kMemoryPage, 4 * kMemoryPage, whole);
  EXPECT_FALSE(whole);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].base, kMemoryAt + 2 * kMemoryPage);
  EXPECT_EQ(memories_.find(1)->mappings, 1u);
  memories_.put_back(taken);
  EXPECT_EQ(memories_.find(1)->mappings, 2u);
  EXPECT_TRUE(memories_.mapped(kMemoryAt + 2 * kMemoryPage, kMemoryPage));
}

}  // namespace
}  // namespace cuvmm::shim
