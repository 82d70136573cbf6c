// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/host_chunks.h"

#include <cuda.h>
#include <gtest/gtest.h>

namespace cuvmm::emulator {
namespace {

constexpr unsigned kPortable = CU_MEMHOSTALLOC_PORTABLE;

TEST(HostChunks, TellWhatTheFirstMemoryInThemAsked) {
  HostChunks chunks;
  const auto first = chunks.take(nullptr, 1, kPortable);
  const auto second = chunks.take(nullptr, HostChunks::kChunk - HostChunks::kUnit, 0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(chunks.flags(second), kPortable);
  const auto third = chunks.take(nullptr, 1, 0);
  EXPECT_NE(third, first) << "the first is full";
  EXPECT_EQ(chunks.flags(third), 0u);
}

TEST(HostChunks, LastUntilTheirLastMemoryIsFreed) {
  HostChunks chunks;
  const auto first = chunks.take(nullptr, 512, kPortable);
  chunks.take(nullptr, 512, 0);
  chunks.give(first, 512);
  EXPECT_EQ(chunks.flags(chunks.take(nullptr, 512, 0)), kPortable);
  chunks.give(first, 512);
  chunks.give(first, 512);
  EXPECT_EQ(chunks.flags(chunks.take(nullptr, 512, 0)), 0u);
}

TEST(HostChunks, AreOneContextsAndOneWayOfCaching) {
  HostChunks chunks;
  const auto* other = reinterpret_cast<const Context*>(0x1000);
  const auto mine = chunks.take(nullptr, 512, 0);
  EXPECT_NE(chunks.take(other, 512, 0), mine);
  EXPECT_NE(chunks.take(nullptr, 512, CU_MEMHOSTALLOC_WRITECOMBINED), mine);
  EXPECT_NE(chunks.take(nullptr, HostChunks::kChunk - 1, 0), mine);
}

}  // namespace
}  // namespace cuvmm::emulator
