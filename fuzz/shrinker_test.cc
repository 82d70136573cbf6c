#include "fuzz/shrinker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fuzz/generator.h"

namespace cuvmm::fuzz {
namespace {

std::size_t count(const Ops& ops, Code code) {
  return static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.code == code; }));
}

TEST(Shrinker, KeepsWhatMattersAndNothingElse) {
  Random random(4);
  Style style;
  style.ops = 80;
  const Ops ops = generate(random, style);
  ASSERT_GE(count(ops, Code::kMap), 2u);
  const auto shows = [](const Ops& candidate) {
    return count(candidate, Code::kMap) >= 2 && count(candidate, Code::kCreate) >= 1;
  };
  const ShrinkResult result = shrink(ops, shows);
  EXPECT_EQ(result.ops.size(), 3u);
  EXPECT_TRUE(shows(result.ops));
  for (const Op& op : result.ops) EXPECT_EQ(op.odd, 0);
}

TEST(Shrinker, OneProcessDoesWhereTwoDoNotMatter) {
  Random random(5);
  Style style;
  style.ops = 80;
  style.processes = 2;
  const Ops ops = generate(random, style);
  ASSERT_EQ(processes_of(ops), 2);
  const auto shows = [](const Ops& candidate) { return count(candidate, Code::kMap) >= 2; };
  EXPECT_EQ(processes_of(shrink(ops, shows).ops), 1);
  const auto both = [&](const Ops& candidate) {
    return shows(candidate) && processes_of(candidate) == 2;
  };
  const ShrinkResult result = shrink(ops, both);
  EXPECT_EQ(result.ops.size(), 2u);
  EXPECT_EQ(processes_of(result.ops), 2);
}

TEST(Shrinker, StopsAfterSoManyTries) {
  Random random(4);
  Style style;
  style.ops = 60;
  unsigned calls = 0;
  const auto never = [&](const Ops&) { return ++calls, false; };
  const Ops ops = generate(random, style);
  const ShrinkResult result = shrink(ops, never, {.tries = 10});
  EXPECT_EQ(result.ops, ops);
  EXPECT_EQ(calls, 10u);
}

TEST(Shrinker, StopsWhenItsTimeIsUp) {
  Random random(6);
  const Ops ops = generate(random, Style{});
  const ShrinkResult result =
      shrink(ops, [](const Ops&) { return true; }, {.time = std::chrono::milliseconds(0)});
  EXPECT_EQ(result.candidates, 0u);
  EXPECT_EQ(result.ops, ops);
}

}  // namespace
}  // namespace cuvmm::fuzz
