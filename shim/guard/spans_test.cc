// SPDX-License-Identifier: Apache-2.0
#include "shim/guard/spans.h"

#include <gmock/gmock.h>

namespace cuvmm::shim {
namespace {

constexpr std::uint64_t kSpanPage = 2 << 20;
constexpr std::uint64_t kSpanInner = 0x700000200000;
constexpr Span kGuardedSpan{kSpanInner, 4 * kSpanPage, kSpanPage};

TEST(Spans, KnowAProgramsRangeByItsOwnBase) {
  Spans spans(0);
  spans.add(kGuardedSpan);
  ASSERT_TRUE(spans.live(kSpanInner));
  EXPECT_EQ(spans.live(kSpanInner)->outer_base(), kSpanInner - kSpanPage);
  EXPECT_EQ(spans.live(kSpanInner)->outer_size(), 6 * kSpanPage);
  EXPECT_FALSE(spans.live(kSpanInner - kSpanPage));
  EXPECT_FALSE(spans.live(kSpanInner + kSpanPage));
  EXPECT_TRUE(spans.at(kSpanInner - kSpanPage));
  EXPECT_FALSE(spans.at(kSpanInner - kSpanPage - 1));
  EXPECT_TRUE(spans.at(kSpanInner + 5 * kSpanPage - 1));
  EXPECT_FALSE(spans.at(kSpanInner + 5 * kSpanPage));
  spans.remove(kGuardedSpan);
  EXPECT_FALSE(spans.at(kSpanInner));
}

TEST(Spans, ForbidWhatReachesIntoAGuard) {
  Spans spans(0);
  spans.add(kGuardedSpan);
  EXPECT_FALSE(spans.forbidden(kSpanInner, 4 * kSpanPage));
  EXPECT_FALSE(spans.forbidden(kSpanInner + 3 * kSpanPage, kSpanPage));
  EXPECT_TRUE(spans.forbidden(kSpanInner + 3 * kSpanPage, kSpanPage + 1));
  EXPECT_TRUE(spans.forbidden(kSpanInner - 1, 1));
  EXPECT_TRUE(spans.forbidden(kSpanInner - 3 * kSpanPage, 3 * kSpanPage));
  EXPECT_FALSE(spans.forbidden(kSpanInner - 3 * kSpanPage, 2 * kSpanPage));
  EXPECT_TRUE(spans.forbidden(0, ~std::uint64_t{0}));
  EXPECT_FALSE(
      spans.forbidden(kSpanInner + 5 * kSpanPage, ~std::uint64_t{0} - kSpanInner - 5 * kSpanPage));
}

TEST(Spans, WithoutAGuardForbidNothingThatTheDriverJudges) {
  Spans spans(1);
  spans.add({kSpanInner, kSpanPage});
  EXPECT_FALSE(spans.forbidden(kSpanInner, 2 * kSpanPage));
}

TEST(Spans, KeepSoManyFreedRangesAndForbidThem) {
  Spans spans(2);
  for (std::uint64_t i = 0; i < 3; ++i) spans.add({kSpanInner + i * kSpanPage, kSpanPage});
  EXPECT_TRUE(spans.keep(*spans.live(kSpanInner)).empty());
  EXPECT_FALSE(spans.live(kSpanInner));
  EXPECT_TRUE(spans.forbidden(kSpanInner, 1));
  EXPECT_TRUE(spans.keep(*spans.live(kSpanInner + kSpanPage)).empty());
  const auto over = spans.keep(*spans.live(kSpanInner + 2 * kSpanPage));
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].base, kSpanInner) << "the oldest";
  EXPECT_FALSE(spans.forbidden(kSpanInner, 1));
  EXPECT_EQ(spans.freed(), 2u);
  EXPECT_EQ(spans.give_back().size(), 2u);
  EXPECT_EQ(spans.freed(), 0u);
  EXPECT_FALSE(spans.at(kSpanInner + kSpanPage));
}

TEST(WithMargins, LeavesRoomOnBothSides) {
  const auto plain = with_margins(kSpanPage, 0, kSpanPage);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->size, 3 * kSpanPage);
  EXPECT_EQ(plain->hint, 0u);
  EXPECT_EQ(with_margins(kSpanPage, kSpanInner, kSpanPage)->hint, kSpanInner - kSpanPage);
  EXPECT_FALSE(with_margins(0, 0, kSpanPage));
  EXPECT_FALSE(with_margins(kSpanPage, kSpanPage, kSpanPage)) << "no room before the hint";
  EXPECT_FALSE(with_margins(~std::uint64_t{0}, 0, kSpanPage));
  EXPECT_FALSE(with_margins(kSpanPage, 0, ~std::uint64_t{0}));
}

}  // namespace
}  // namespace cuvmm::shim
