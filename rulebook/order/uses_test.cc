// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/uses.h"

#include <gmock/gmock.h>

#include "api/sizes.h"

namespace cuvmm {
namespace {

constexpr StreamId kStream = 1, kOther = 2;
constexpr Address kBase = 0x700000000000;

class UsesTest : public testing::Test {
 protected:
  void add(StreamId stream, Position position, std::vector<UsedRange> ranges) {
    Use use;
    use.position = position;
    std::vector<GivenWord> pointers;
    for (const UsedRange& range : ranges) {
      if (range.size == 0) pointers.emplace_back(range.base, range.evidence);
    }
    std::erase_if(ranges, [](const UsedRange& range) { return range.size == 0; });
    uses_.add(stream, use, {pointers, ranges},
              [&](const Use& dropped) { dropped_.push_back(dropped.position); });
  }
  void add_shared(StreamId stream, Position position, std::vector<UsedRange> ranges) {
    Use use;
    use.position = position;
    uses_.add(stream, use, std::make_shared<const std::vector<UsedRange>>(std::move(ranges)),
              [&](const Use& dropped) { dropped_.push_back(dropped.position); });
  }
  std::vector<std::pair<StreamId, Position>> found(Address base, Size size) const {
    std::vector<std::pair<StreamId, Position>> list;
    uses_.find({base, size}, [&](StreamId stream, const Use& use, const UsedRange&) {
      list.emplace_back(stream, use.position);
    });
    std::sort(list.begin(), list.end());
    return list;
  }
  using Found = std::vector<std::pair<StreamId, Position>>;

  Uses uses_;
  std::vector<Position> dropped_;
};

TEST_F(UsesTest, APointerIsFoundWhereItPoints) {
  add(kStream, 1, {{kBase + kGranule, 0}});
  EXPECT_EQ(found(kBase + kGranule, kGranule), (Found{{kStream, 1}}));
  EXPECT_EQ(found(kBase, kGranule + 1), (Found{{kStream, 1}}));
  EXPECT_EQ(found(kBase, kGranule), Found{}) << "one byte before it ends the range";
  EXPECT_EQ(found(kBase + kGranule + 1, kGranule), Found{}) << "behind it the range begins";
  EXPECT_EQ(found(kBase + kGranule, 0), Found{});
}

TEST_F(UsesTest, ARangeIsFoundWithEachOfItsBytes) {
  add(kStream, 1, {{kBase, 16}});
  EXPECT_EQ(found(kBase + 15, 1), (Found{{kStream, 1}}));
  EXPECT_EQ(found(kBase - 16, 17), (Found{{kStream, 1}}));
  EXPECT_EQ(found(kBase + 16, 16), Found{});
  EXPECT_EQ(found(kBase - 16, 16), Found{});
}

TEST_F(UsesTest, AUseIsFoundOnceWhateverOfItIsThere) {
  add(kStream, 1, {{kBase, 0}, {kBase + 8, 0}, {kBase + kGranule, 0}});
  add_shared(kOther, 1, {{kBase + kGranule, 8}, {kBase, 8}});
  EXPECT_EQ(found(kBase, kGranule), (Found{{kStream, 1}, {kOther, 1}}));
}

TEST_F(UsesTest, AnEndIsNoUseOfWhatBeginsThere) {
  const AskedMemory asked{kBase + kGranule, kGranule, {kBase, true}};
  const auto streams = [&] {
    std::vector<StreamId> list;
    uses_.find(asked,
               [&](StreamId stream, const Use&, const UsedRange&) { list.push_back(stream); });
    std::sort(list.begin(), list.end());
    return list;
  };
  add(kStream, 1, {{kBase + 64, 0}, {kBase + kGranule, 0}});
  add_shared(kOther, 1,
             {{kBase, 0, Evidence::kByType, 1}, {kBase + kGranule, 0, Evidence::kByType, 1}});
  EXPECT_EQ(streams(), std::vector<StreamId>{}) << "both begin before it";
  add(kStream, 2, {{kBase + kGranule, 0}});
  EXPECT_EQ(streams(), std::vector<StreamId>{kStream}) << "alone, it is where memory begins";
  add_shared(kOther, 2,
             {{kBase, 0, Evidence::kByType, 1}, {kBase + kGranule, 0, Evidence::kByType, 2}});
  EXPECT_EQ(streams(), (std::vector<StreamId>{kStream, kOther})) << "of another node of the graph";
  add(kStream, 3,
      {{kBase, 0}, {kBase + kGranule, 0}, {kBase + kGranule + 8, 0, Evidence::kByValue}});
  EXPECT_EQ(streams(), (std::vector<StreamId>{kStream, kStream, kOther})) << "and inside of it";
  add(kStream, 4, {{kBase, 0}, {kBase + kGranule, 16}});
  EXPECT_EQ(streams(), (std::vector<StreamId>{kStream, kStream, kStream, kOther})) << "a range";
}

TEST_F(UsesTest, TheSurestOfAUsesRangesIsTold) {
  add(kStream, 1, {{kBase, 0, Evidence::kWord}, {kBase + 8, 0, Evidence::kByValue}});
  add_shared(kStream, 2, {{kBase, 0, Evidence::kByValue}, {kBase + 8, 0, Evidence::kByType}});
  std::vector<Evidence> grades;
  const auto visit = [&](StreamId, const Use&, const UsedRange& range) {
    grades.push_back(range.evidence);
  };
  uses_.find({kBase, 16}, visit);
  EXPECT_EQ(grades, (std::vector<Evidence>{Evidence::kByValue, Evidence::kByType}));
}

TEST_F(UsesTest, WhatIsOverIsDroppedFromTheFront) {
  for (Position p = 1; p <= 5; ++p) add(kStream, p, {{kBase, 8}, {kBase + p * kGranule, 8}});
  uses_.drop_while(kStream, [](const Use& use) { return use.position <= 3; });
  EXPECT_EQ(found(kBase, 8), (Found{{kStream, 4}, {kStream, 5}}));
  EXPECT_EQ(found(kBase + 5 * kGranule, 8), (Found{{kStream, 5}})) << "ranges stay with their uses";
  EXPECT_TRUE(uses_.at(kStream, 4));
  EXPECT_FALSE(uses_.at(kStream, 3));
  EXPECT_FALSE(uses_.empty());
  uses_.forget(kStream, [](const Use&) {});
  EXPECT_TRUE(uses_.empty());
}

TEST_F(UsesTest, TheOldestMakesRoom) {
  for (Position p = 1; p <= Uses::kMostUses + 2; ++p) add(kStream, p, {{kBase, 8}});
  EXPECT_EQ(dropped_, (std::vector<Position>{1, 2}));
  EXPECT_EQ(found(kBase, 8).size(), Uses::kMostUses);
}

TEST_F(UsesTest, TheOldestMakesRoomForManyRanges) {
  add(kStream, 1, {{kBase, 8}});
  add(kStream, 2, std::vector<UsedRange>(Uses::kMostRanges - 1, {kBase + kGranule, 8}));
  EXPECT_TRUE(dropped_.empty());
  add(kStream, 3, {{kBase, 8}, {kBase + kGranule, 8}});
  EXPECT_EQ(dropped_, (std::vector<Position>{1, 2}));
  add(kStream, 4, std::vector<UsedRange>(2 * Uses::kMostRanges, {kBase, 8}));
  add(kStream, 5, std::vector<UsedRange>(Uses::kMostRanges, {kBase + 2 * kGranule, 0}));
  EXPECT_EQ(dropped_.size(), 3u) << "pointers have places of their own";
  EXPECT_EQ(found(kBase, 8), (Found{{kStream, 4}})) << "the rest of its ranges is left out";
}

}  // namespace
}  // namespace cuvmm
