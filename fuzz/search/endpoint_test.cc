// SPDX-License-Identifier: Apache-2.0
// Tests logical endpoints and fabric copies on a driver that has them: the corpus, generated
// programs, planted faults, and earlier disagreements.
#include <gtest/gtest.h>

#include "fuzz/generate/generator.h"
#include "fuzz/search/stacked.h"
#include "fuzz/search/testing.h"

#ifdef __clang__
// The leak check at exit of clang 14 crashes on a library with thread-locals that was opened late.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace cuvmm::fuzz {
namespace {

constexpr Scope kEverything{.devices = 3, .processes = 1, .multicast = true, .endpoints = true};

Differential& documented() {
  static Differential* const only = [] {
    setenv("CUVMM_PROFILE", "documented", 1);
    setenv("CUVMM_DEVICES", "3", 1);
    setenv("CUVMM_DEVICE_MEMORY", "64M", 1);
    setenv("CUVMM_MULTICAST_TIMEOUT_MS", "0", 1);
    const LoadedDriver loaded = load_driver(CUVMM_EMULATOR);
    EXPECT_EQ(loaded.error, "");
    return new Differential(loaded.driver, load_profile("documented").profile,
                            {.multicast = loaded.emulated});
  }();
  return *only;
}

std::string disagreement(std::string_view text) {
  const TextOps program = from_text(text);
  if (!program.error.empty()) return program.error;
  return run_stacked(documented(), program.ops).problem;
}

TEST(EndpointCorpus, AgreesBareAndUnderTheShim) {
  const auto files = corpus("endpoint");
  EXPECT_GE(files.size(), 5u);
  for (const auto& path : files) {
    EXPECT_EQ(disagreement(read(path)), "") << path;
  }
}

TEST(EndpointCorpus, AnswersAsItSays) {
  for (const auto& path : corpus("endpoint")) {
    const std::string text = read_calls(path);
    const Ops ops = from_text(text).ops;
    EXPECT_EQ(to_text(ops, notes_of(documented().run(ops))), text) << path;
  }
}

TEST(EndpointCorpus, BreaksEveryRuleThatCanBePlanted) {
  Statistics statistics;
  for (const auto& path : corpus("endpoint"))
    statistics.add(documented().run(from_text(read(path)).ops));
  for (const Rule rule : plantable_in_endpoints()) {
    EXPECT_NE(statistics.by_rule[static_cast<std::size_t>(rule)], 0u) << info(rule).id;
  }
}

// Programs that disagreed on a driver that behaves as documented.
TEST(EndpointRegression, ATeamIsMappedAtItsGranularity) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMulticastCreate({numDevices=1, size=2M})
cuMulticastAddDevice(h1, 0)
r1 = cuMemAddressReserve(4M)
cuMemMap(r1+4K, 2M, h1)
)"),
            "");
}

TEST(EndpointRegression, NoDeviceSharesMemoryOfANodeWithOtherMachines) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMemCreate(2M, host_numa=0, handle_types=0x18)
)"),
            "");
}

TEST(EndpointGenerator, SixCallsOfTenSucceedAndAllKindsAreMade) {
  Random random(1);
  Statistics statistics;
  unsigned made[kCodes] = {}, succeeded[kCodes] = {};
  for (int i = 0; i < 1500; ++i) {
    Style style = swarm(random, kEverything);
    style.endpoints = true;
    style.enabled = ~std::uint64_t{0};
    const Ops ops = generate(random, style);
    const Result result = documented().run(ops);
    EXPECT_EQ(result.problem, "") << to_text(ops, notes_of(result));
    statistics.add(result);
    for (std::size_t j = 0; j < ops.size(); ++j) {
      const auto code = static_cast<std::size_t>(ops[j].code);
      const Answer& answer = result.steps[j].answer;
      ++made[code];
      succeeded[code] += answer.run && answer.result == CUDA_SUCCESS;
    }
  }
  EXPECT_GE(statistics.succeeded * 10, statistics.calls * 6) << statistics.text();
  for (auto code = static_cast<std::size_t>(Code::kEpReserve);
       code <= static_cast<std::size_t>(Code::kFabricCopy); ++code) {
    EXPECT_GE(succeeded[code], 20u) << function_of(static_cast<Code>(code)) << " of " << made[code];
  }
}

// Puts each recipe into legal programs; at least one of them must break the rule.
TEST(EndpointGenerator, APlantedFaultBreaksItsRule) {
  for (const Rule rule : plantable_in_endpoints()) {
    bool broken = false;
    for (std::uint64_t seed = 1; seed < 600 && !broken; ++seed) {
      Random random(seed);
      Style style;
      style.faults = 0;
      style.ops = 100;
      style.endpoints = true;
      style.devices = 3;
      Ops ops = generate(random, style);
      if (!plant(ops, rule, random)) continue;
      for (const Step& step : documented().run(ops).steps) {
        broken = broken || step.judgement.breaks(rule);
      }
    }
    EXPECT_TRUE(broken) << info(rule).id;
  }
}

}  // namespace
}  // namespace cuvmm::fuzz
