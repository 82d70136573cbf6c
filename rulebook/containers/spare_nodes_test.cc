// SPDX-License-Identifier: Apache-2.0
#include "rulebook/containers/spare_nodes.h"

#include <gtest/gtest.h>

#include <map>
#include <unordered_map>

namespace cuvmm {
namespace {

TEST(SpareNodes, AnErasedEntrysMemoryIsTheNextOnes) {
  std::map<int, int> map;
  SpareNodes<std::map<int, int>> spare;
  const int* const place = &spare.put(map, map.end(), 1, 10)->second;
  spare.erase(map, map.find(1));
  EXPECT_TRUE(map.empty());
  const auto again = spare.put(map, map.end(), 2, 20);
  EXPECT_EQ(&again->second, place);
  EXPECT_EQ(*again, (std::pair<const int, int>(2, 20)));
}

TEST(SpareNodes, EraseReturnsTheEntryThatFollows) {
  std::map<int, int> map{{1, 0}, {2, 0}, {3, 0}, {4, 0}};
  SpareNodes<std::map<int, int>> spare;
  EXPECT_EQ(spare.erase(map, map.find(2))->first, 3);
  EXPECT_EQ(spare.erase(map, map.find(4)), map.end());
  EXPECT_EQ(spare.erase(map, map.find(1))->first, 3);
  EXPECT_EQ(spare.erase(map, map.find(3)), map.end());
}

TEST(SpareNodes, EraseByKeyKeepsTheMemoryToo) {
  std::unordered_map<int, int> map{{1, 10}};
  SpareNodes<std::unordered_map<int, int>> spare;
  const int* const place = &map.at(1);
  spare.erase_key(map, 2);  // not there
  EXPECT_EQ(map.size(), 1u);
  spare.erase_key(map, 1);
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(&spare.put(map, 3, 30)->second, place);
  // The key is there already: its entry takes the value.
  spare.put(map, 3, 31);
  EXPECT_EQ(map.at(3), 31);
}

}  // namespace
}  // namespace cuvmm
