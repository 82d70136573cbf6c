// SPDX-License-Identifier: Apache-2.0
#include "recorder/holdings/slot_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace cuvmm::holdings {
namespace {

TEST(SlotIndex, FindsWhatWasAddedAndNotWhatWasRemoved) {
  // Compares the index with a std::map, with keys that crowd in few places.
  SlotIndex index;
  std::vector<std::uint64_t> keys(4096);
  std::map<std::uint64_t, std::uint32_t> known;
  const auto key_at = [&](std::uint32_t slot) { return keys[slot]; };
  std::vector<std::uint32_t> free;
  for (std::uint32_t slot = 0; slot < keys.size(); ++slot) free.push_back(slot);
  std::mt19937_64 random(7);
  for (int step = 0; step < 200000; ++step) {
    const std::uint64_t key = (random() % 3000 + 1) << 21;
    const auto found = known.find(key);
    ASSERT_EQ(index.find(key, key_at), found == known.end() ? SlotIndex::kNone : found->second);
    if (found == known.end()) {
      const std::uint32_t slot = free.back();
      free.pop_back();
      keys[slot] = key;
      index.add(key, slot, key_at);
      known[key] = slot;
    } else {
      index.remove(key, key_at);
      free.push_back(found->second);
      known.erase(found);
    }
  }
  for (const auto& [key, slot] : known) EXPECT_EQ(index.find(key, key_at), slot);
}

TEST(SlotIndex, AnEmptyOneHasNothing) {
  SlotIndex index;
  const auto none = [](std::uint32_t) { return std::uint64_t{0}; };
  EXPECT_EQ(index.find(1, none), SlotIndex::kNone);
  index.remove(1, none);
  EXPECT_EQ(index.find(1, none), SlotIndex::kNone);
}

}  // namespace
}  // namespace cuvmm::holdings
