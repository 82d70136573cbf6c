// SPDX-License-Identifier: Apache-2.0
#include "fuzz/finding/last_programs.h"

#include <gtest/gtest.h>

#include <memory>

namespace cuvmm::fuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(LastPrograms, TheLastOnesComeInTheirOrder) {
  const auto ring = std::make_unique<LastPrograms>();
  EXPECT_TRUE(ring->in_order().empty());
  for (std::uint8_t i = 0; i < LastPrograms::kMost + 3; ++i) {
    ring->add(Bytes(i % 5, i));
    EXPECT_EQ(ring->in_order().back(), Bytes(i % 5, i));
  }
  const auto all = ring->in_order();
  ASSERT_EQ(all.size(), LastPrograms::kMost);
  EXPECT_EQ(all.front(), Bytes(3, 3));
}

TEST(LastPrograms, LongProgramsAndDamagedFilesStayInside) {
  const auto ring = std::make_unique<LastPrograms>();
  ring->add(Bytes(2 * LastPrograms::kMostBytes, 7));
  EXPECT_EQ(ring->in_order().back(), Bytes(LastPrograms::kMostBytes, 7));
  std::memset(static_cast<void*>(ring.get()), 0xff, sizeof *ring);
  for (const Bytes& bytes : ring->in_order()) EXPECT_LE(bytes.size(), LastPrograms::kMostBytes);
}

}  // namespace
}  // namespace cuvmm::fuzz
