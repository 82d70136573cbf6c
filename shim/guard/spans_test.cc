// SPDX-License-Identifier: Apache-2.0
#include "shim/guard/spans.h"

#include <gmock/gmock.h>

namespace cuvmm::shim {
namespace {

constexpr std::uint64_t kPage = 2 << 20;
constexpr std::uint64_t kInner = 0x700000200000;
constexpr Span kGuarded{kInner, 4 * kPage, kPage};

TEST(Spans, KnowAProgramsRangeByItsOwnBase) {
  Spans spans(0);
  spans.add(kGuarded);
  ASSERT_TRUE(spans.live(kInner));
  EXPECT_EQ(spans.live(kInner)->outer_base(), kInner - kPage);
  EXPECT_EQ(spans.live(kInner)->outer_size(), 6 * kPage);
  EXPECT_FALSE(spans.live(kInner - kPage));
  EXPECT_FALSE(spans.live(kInner + kPage));
  EXPECT_TRUE(spans.at(kInner - kPage));
  EXPECT_FALSE(spans.at(kInner - kPage - 1));
  EXPECT_TRUE(spans.at(kInner + 5 * kPage - 1));
  EXPECT_FALSE(spans.at(kInner + 5 * kPage));
  spans.remove(kGuarded);
  EXPECT_FALSE(spans.at(kInner));
}

TEST(Spans, ForbidWhatReachesIntoAGuard) {
  Spans spans(0);
  spans.add(kGuarded);
  EXPECT_FALSE(spans.forbidden(kInner, 4 * kPage));
  EXPECT_FALSE(spans.forbidden(kInner + 3 * kPage, kPage));
  EXPECT_TRUE(spans.forbidden(kInner + 3 * kPage, kPage + 1));
  EXPECT_TRUE(spans.forbidden(kInner - 1, 1));
  EXPECT_TRUE(spans.forbidden(kInner - 3 * kPage, 3 * kPage));
  EXPECT_FALSE(spans.forbidden(kInner - 3 * kPage, 2 * kPage));
  EXPECT_TRUE(spans.forbidden(0, ~std::uint64_t{0}));
  EXPECT_FALSE(spans.forbidden(kInner + 5 * kPage, ~std::uint64_t{0} - kInner - 5 * kPage));
}

TEST(Spans, WithoutAGuardForbidNothingThatTheDriverJudges) {
  Spans spans(1);
  spans.add({kInner, kPage});
  EXPECT_FALSE(spans.forbidden(kInner, 2 * kPage));
}

TEST(Spans, KeepSoManyFreedRangesAndForbidThem) {
  Spans spans(2);
  for (std::uint64_t i = 0; i < 3; ++i) spans.add({kInner + i * kPage, kPage});
  EXPECT_TRUE(spans.keep(*spans.live(kInner)).empty());
  EXPECT_FALSE(spans.live(kInner));
  EXPECT_TRUE(spans.forbidden(kInner, 1));
  EXPECT_TRUE(spans.keep(*spans.live(kInner + kPage)).empty());
  const auto over = spans.keep(*spans.live(kInner + 2 * kPage));
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].base, kInner) << "the oldest";
  EXPECT_FALSE(spans.forbidden(kInner, 1));
  EXPECT_EQ(spans.kept(), 2u);
  EXPECT_EQ(spans.give_back().size(), 2u);
  EXPECT_EQ(spans.kept(), 0u);
  EXPECT_FALSE(spans.at(kInner + kPage));
}

TEST(WithMargins, LeavesRoomOnBothSides) {
  const auto plain = with_margins(kPage, 0, kPage);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->size, 3 * kPage);
  EXPECT_EQ(plain->hint, 0u);
  EXPECT_EQ(with_margins(kPage, kInner, kPage)->hint, kInner - kPage);
  EXPECT_FALSE(with_margins(0, 0, kPage));
  EXPECT_FALSE(with_margins(kPage, kPage, kPage)) << "no room before the hint";
  EXPECT_FALSE(with_margins(~std::uint64_t{0}, 0, kPage));
  EXPECT_FALSE(with_margins(kPage, 0, ~std::uint64_t{0}));
}

}  // namespace
}  // namespace cuvmm::shim
