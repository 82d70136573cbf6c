// SPDX-License-Identifier: Apache-2.0
#include "fuzz/generate/generator.h"

#include <algorithm>

#include "fuzz/search/testing_machine.h"

namespace cuvmm::fuzz {
namespace {

constexpr Scope kEverything{.devices = 3, .processes = 1, .multicast = true};
constexpr Scope kFurther{.devices = 3, .processes = 1, .multicast = true, .further = true};

TEST(Generator, ASeedMeansAProgram) {
  Random a(5), b(5), c(6);
  const Ops ops = generate(a, swarm(a, {.devices = 2}));
  EXPECT_EQ(generate(b, swarm(b, {.devices = 2})), ops);
  EXPECT_NE(generate(c, swarm(c, {.devices = 2})), ops);
}

TEST(Generator, SevenCallsOfTenSucceedAndAllKindsAreMade) {
  Random random(1);
  Statistics statistics;
  bool made[kCodes] = {};
  for (int i = 0; i < 1000; ++i) {
    const Ops ops = generate(random, swarm(random, kEverything));
    for (const Op& op : ops) made[static_cast<std::size_t>(op.code)] = true;
    statistics.add(emulated().run(ops));
  }
  EXPECT_GE(statistics.succeeded * 10, statistics.calls * 7) << statistics.text();
  for (std::size_t code = 0; code < kCodes; ++code) {
    if (is_endpoint(static_cast<Code>(code))) continue;  // endpoint_test.cc
    if (is_further(static_cast<Code>(code))) continue;   // below
    EXPECT_TRUE(made[code]) << function_of(static_cast<Code>(code));
  }
}

// Without Scope::further, programs have no further calls, as on the recorded drivers. With it, the
// calls are made and succeed.
TEST(Generator, FurtherCallsAreMadeWhereTheyAreAskedFor) {
  Random random(2), again(2);
  const auto further = [](const Op& op) { return is_further(op.code); };
  unsigned made[kCodes] = {}, succeeded[kCodes] = {};
  for (int i = 0; i < 1500; ++i) {
    const Ops without = generate(again, swarm(again, {.devices = 3}));
    EXPECT_TRUE(std::none_of(without.begin(), without.end(), further));
    const Ops ops = generate(random, swarm(random, kFurther));
    const Result result = emulated().run(ops);
    EXPECT_EQ(result.problem, "") << to_text(ops, notes_of(result));
    for (std::size_t j = 0; j < ops.size(); ++j) {
      const Answer& answer = result.steps[j].answer;
      made[static_cast<std::size_t>(ops[j].code)] += answer.run;
      succeeded[static_cast<std::size_t>(ops[j].code)] +=
          answer.run && answer.result == CUDA_SUCCESS;
    }
  }
  for (auto code = static_cast<std::size_t>(kFirstFurther); code < kCodes; ++code) {
    const auto one = static_cast<Code>(code);
    if (since(one) > 0) continue;  // endpoint_test.cc
    // Calls about managed memory are refused, because the programs have none.
    const bool refused = one == Code::kPrefetch || one == Code::kAdvise;
    EXPECT_GE(refused ? made[code] : succeeded[code], 20u) << function_of(one);
  }
}

TEST(Generator, MutantsAndCrossesStayCanonicalAndBounded) {
  Random random(3);
  Ops before = generate(random, swarm(random, {.devices = 3}));
  for (int i = 0; i < 500; ++i) {
    const Scope& scope = i % 2 ? kFurther : kEverything;
    Ops ops = generate(random, swarm(random, scope));
    mutate(ops, random, scope, 60);
    EXPECT_LE(ops.size(), 60u);
    ops = cross_over(ops, before, random, 60);
    EXPECT_LE(ops.size(), 60u);
    EXPECT_EQ(decode(encode(ops)), ops);
    before = ops;
  }
}

// Puts each recipe into legal programs; at least one of them must break the rule.
void each_breaks_its_rule(std::span<const Rule> rules, std::uint64_t further) {
  for (const Rule rule : rules) {
    bool broken = false;
    for (std::uint64_t seed = 1; seed < 2000 && !broken; ++seed) {
      Random random(seed);
      Style style;
      style.faults = rule == Rule::kMemFreeNotVmm ? 50 : 0;
      style.ops = 100;
      style.multicast = seed % 2;
      style.devices = 3;
      style.further = further;
      Ops ops = generate(random, style);
      if (!plant(ops, rule, random)) continue;
      for (const Step& step : emulated().run(ops).steps) {
        broken = broken || step.judgement.breaks(rule);
      }
    }
    EXPECT_TRUE(broken) << info(rule).id;
  }
}

TEST(Generator, APlantedFaultBreaksItsRule) { each_breaks_its_rule(plantable(), 0); }

TEST(Generator, APlantedFaultOfAFurtherCallBreaksItsRule) {
  each_breaks_its_rule(plantable_further(), kAllFurther);
}

}  // namespace
}  // namespace cuvmm::fuzz
