// SPDX-License-Identifier: Apache-2.0
#include "shim/base/granular_bounds.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "api/sizes.h"

namespace cuvmm::shim {
namespace {

constexpr Address kLow = 0x7000'0000'0000, kHigh = kLow + (Address{1} << 40);

bool near(const GranularBounds& bounds, Address base, Size size = 1) {
  const Touch touch{.base = base, .width = size};
  return bounds.near(&touch, 1);
}

TEST(GranularBounds, KnowsThePlacesBetweenRanges) {
  GranularBounds bounds;
  EXPECT_FALSE(near(bounds, kLow));
  bounds.widen(kLow, 3 * kGranule);
  bounds.widen(kHigh, kGranule);
  EXPECT_TRUE(near(bounds, kLow));
  EXPECT_TRUE(near(bounds, kLow + 3 * kGranule - 1));
  EXPECT_TRUE(near(bounds, kHigh + kGranule - 1));
  EXPECT_FALSE(near(bounds, kLow + 3 * kGranule));
  EXPECT_FALSE(near(bounds, kHigh - 1));
  EXPECT_FALSE(near(bounds, kHigh + kGranule));
  EXPECT_FALSE(near(bounds, kLow - 1));
  // The range from the first to the last is still known as one range.
  EXPECT_TRUE(bounds.holds(kHigh - 1));
  Touched between{{{.base = kHigh - 1, .width = 1}}, 1};
  EXPECT_TRUE(bounds.spans(between));
  EXPECT_FALSE(bounds.near(between));
}

TEST(GranularBounds, ATouchThatReachesIntoARangeIsNear) {
  GranularBounds bounds;
  bounds.widen(kLow, kGranule);
  bounds.widen(kHigh, kGranule);
  EXPECT_TRUE(near(bounds, kHigh - 100, 101));
  EXPECT_FALSE(near(bounds, kHigh - 100, 100));
  EXPECT_TRUE(near(bounds, kHigh - (Address{1} << 38), (Size{1} << 38) + 1));
  EXPECT_FALSE(near(bounds, kHigh - (Address{1} << 38), Size{1} << 38));
  const Touch rows{.base = kHigh - 2 * kGranule, .width = 1, .pitch = kGranule, .rows = 3};
  EXPECT_TRUE(bounds.near(&rows, 1));
  const Touch two[] = {{.base = kHigh - kGranule, .width = 1}, {.base = kLow, .width = 1}};
  EXPECT_TRUE(bounds.near(two, 2));
  EXPECT_FALSE(bounds.near(two, 1));
  // A size that the program made up does not wrap.
  EXPECT_TRUE(near(bounds, kLow + kGranule, ~Size{0}));
}

TEST(GranularBounds, ARangeOfAPartOfAGranuleStandsForTheGranule) {
  GranularBounds bounds;
  bounds.widen(kLow + 4096, 100);
  bounds.widen(kHigh, 100);
  EXPECT_TRUE(near(bounds, kLow + 8192));
  EXPECT_FALSE(near(bounds, kLow)) << "outside of the whole range";
}

// Addresses and sizes for which there are no bits: then the whole range counts, as before.
TEST(GranularBounds, WithoutBitsTheWholeRangeCounts) {
  for (const auto& [base, size] :
       {std::pair{Address{1} << 50, Size{kGranule}}, std::pair{kHigh + kGranule, Size{1} << 42}}) {
    GranularBounds bounds;
    bounds.widen(kLow, kGranule);
    bounds.widen(kHigh, kGranule);
    EXPECT_FALSE(near(bounds, kHigh - 1));
    bounds.widen(base, size);
    EXPECT_TRUE(near(bounds, kHigh - 1));
    EXPECT_TRUE(near(bounds, base + size - 1));
    EXPECT_FALSE(near(bounds, kLow - 1));
  }
}

TEST(GranularBounds, ThreadsWidenAtOnce) {
  GranularBounds bounds;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&bounds, t] {
      for (std::uint64_t i = t; i < 512; i += 4) bounds.widen(kLow + 2 * i * kGranule, kGranule);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < 511; ++i) {
    EXPECT_TRUE(near(bounds, kLow + 2 * i * kGranule)) << i;
    EXPECT_FALSE(near(bounds, kLow + (2 * i + 1) * kGranule)) << i;
  }
}

}  // namespace
}  // namespace cuvmm::shim
