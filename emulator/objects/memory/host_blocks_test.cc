// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/host_blocks.h"

#include <gtest/gtest.h>

namespace cuvmm::emulator {
namespace {

TEST(HostBlocks, WhatWasAllocatedIsFreedAndWhatWasLockedIsUnlocked) {
  Context context;
  HostBlocks blocks;
  EXPECT_TRUE(blocks.empty());
  const auto base = reinterpret_cast<Address>(blocks.allocate(context, 4096, 0));
  ASSERT_NE(base, 0u);
  alignas(4096) static char mine[8192];
  const auto own = reinterpret_cast<Address>(mine);
  blocks.lock(context, own, sizeof mine, CU_MEMHOSTREGISTER_PORTABLE);
  EXPECT_FALSE(blocks.unlock(base));
  EXPECT_FALSE(blocks.free(own));
  ASSERT_NE(blocks.at(own + 8191), nullptr);
  EXPECT_EQ(blocks.flags(*blocks.at(own + 8191)), unsigned{CU_MEMHOSTREGISTER_PORTABLE});
  EXPECT_EQ(blocks.at(own + 8192), nullptr);
  EXPECT_TRUE(blocks.begins_in(own - 1, 2));
  EXPECT_FALSE(blocks.begins_in(own - 1, 1));
  EXPECT_TRUE(blocks.unlock(own));
  EXPECT_TRUE(blocks.free(base));
  EXPECT_FALSE(blocks.free(base));
  EXPECT_TRUE(blocks.empty());
}

}  // namespace
}  // namespace cuvmm::emulator
