// SPDX-License-Identifier: Apache-2.0
#include "rulebook/containers/rare_list.h"

#include <gmock/gmock.h>

#include <string>

namespace cuvmm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RareList, IsEmptyUntilAnElementComes) {
  RareList<std::string> list;
  EXPECT_THAT(list, IsEmpty());
  EXPECT_EQ(list.begin(), list.end());
  list.push_back("a");
  list.push_back("b");
  EXPECT_THAT(list, ElementsAre("a", "b"));
  EXPECT_EQ(list.front(), "a");
  EXPECT_EQ(list.back(), "b");
  EXPECT_EQ(list[1], "b");
}

TEST(RareList, CopiesAreOfTheirOwn) {
  const RareList<std::string> list{"a"};
  RareList<std::string> copy = list;
  copy.push_back("b");
  EXPECT_THAT(list, ElementsAre("a"));
  copy = list;
  EXPECT_THAT(copy, ElementsAre("a"));
}

TEST(RareList, MovesAndAppendsAndErases) {
  RareList<std::string> list{"a", "b"};
  RareList<std::string> moved = std::move(list);
  EXPECT_THAT(list, IsEmpty());  // NOLINT(bugprone-use-after-move): it is empty by contract
  moved.append({"c"});
  moved.append({});
  moved.erase_if([](const std::string& s) { return s == "b"; });
  EXPECT_THAT(moved, ElementsAre("a", "c"));
  list.erase_if([](const std::string&) { return true; });
  EXPECT_THAT(list, IsEmpty());
}

}  // namespace
}  // namespace cuvmm
