// SPDX-License-Identifier: Apache-2.0
#include "shim/base/reserve.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace cuvmm::shim {
namespace {

TEST(Reserve, GivesAlignedMemoryThatItKnowsAgain) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    void* const memory = take_from_reserve(size);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignof(std::max_align_t), 0u);
    EXPECT_TRUE(is_from_reserve(memory));
    std::memset(memory, 1, size);
  }
  int local = 0;
  EXPECT_FALSE(is_from_reserve(&local));
  EXPECT_FALSE(is_from_reserve(nullptr));
}

TEST(Reserve, GrowsBeyondItsBlocks) {
  constexpr std::size_t kLarge = std::size_t{5} << 20;
  for (int i = 0; i < 4; ++i) {
    auto* const memory = static_cast<char*>(take_from_reserve(kLarge));
    ASSERT_NE(memory, nullptr);
    memory[0] = memory[kLarge - 1] = 1;
    EXPECT_TRUE(is_from_reserve(memory + kLarge - 1));
  }
  EXPECT_EQ(take_from_reserve(SIZE_MAX), nullptr);
  EXPECT_EQ(take_from_reserve(SIZE_MAX / 2), nullptr);
}

TEST(Reserve, CareLastsForAScopeAndOnlyGrows) {
  const CareScope outer(Care::kAsInterrupted);
  {
    const CareScope inner(Care::kOwnMemory);
    EXPECT_EQ(t_state.care, Care::kAsInterrupted);
  }
  EXPECT_EQ(t_state.care, Care::kAsInterrupted);
}

}  // namespace
}  // namespace cuvmm::shim
