// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/stream_map.h"

#include <gtest/gtest.h>

#include <utility>

namespace cuvmm {
namespace {

// Ids that are eight apart share a place in the cache of recent elements.
constexpr StreamId kOne = 3, kSamePlace = 11;

TEST(StreamMap, FindsEachOfTwoThatShareAPlace) {
  StreamMap<int> map;
  map[kOne] = 1;
  map[kSamePlace] = 2;
  for (int again = 0; again < 2; ++again) {
    ASSERT_NE(map.find(kOne), nullptr);
    EXPECT_EQ(*map.find(kOne), 1);
    ASSERT_NE(map.find(kSamePlace), nullptr);
    EXPECT_EQ(*std::as_const(map).find(kSamePlace), 2);
    EXPECT_EQ(*std::as_const(map).find(kOne), 1);
  }
  EXPECT_EQ(map.find(19), nullptr);
}

TEST(StreamMap, WhatWasErasedIsNotFoundThoughItWasMetLast) {
  StreamMap<int> map;
  map[kOne] = 1;
  ASSERT_NE(map.find(kOne), nullptr);
  map.erase(kOne);
  EXPECT_FALSE(map.contains(kOne));
  map[kOne] = 2;
  EXPECT_EQ(*map.find(kOne), 2);
  map.erase_if([](const auto& each) { return each.second == 2; });
  EXPECT_FALSE(map.contains(kOne));
  map[kOne] = 3;
  EXPECT_EQ(*map.find(kOne), 3);
  map.clear();
  EXPECT_FALSE(map.contains(kOne));
}

TEST(StreamMap, NoStreamHasTheIdZero) {
  StreamMap<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(std::as_const(map).find(0), nullptr);
}

TEST(StreamMap, AMoveTakesAllAndLeavesNothing) {
  StreamMap<int> from;
  from[kOne] = 1;
  ASSERT_NE(from.find(kOne), nullptr);
  StreamMap<int> to = std::move(from);
  EXPECT_EQ(*to.find(kOne), 1);
  EXPECT_FALSE(from.contains(kOne));  // NOLINT(bugprone-use-after-move): it is empty
  StreamMap<int> other;
  other[kOne] = 5;
  ASSERT_NE(other.find(kOne), nullptr);
  other = std::move(to);
  EXPECT_EQ(*other.find(kOne), 1);
}

}  // namespace
}  // namespace cuvmm
