// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/injector.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "shim/fail/call_facts.h"
#include "shim/fail/site.h"

namespace cuvmm::shim {
namespace {

using ::testing::ElementsAre;

/// The function from which the "program" of these tests calls.
[[gnu::noinline]] std::optional<CUresult> call_here(Injector& injector, EntryPoint entry,
                                                    injected_failures::CallFacts facts = {}) {
  return injector.answer(entry, facts, CUVMM_CALLER);
}
[[gnu::noinline]] std::optional<CUresult> grow_there(Injector& injector, EntryPoint entry) {
  const auto answer = call_here(injector, entry);
  // Prevents a tail call.
  asm volatile("" ::: "memory");
  return answer;
}

std::vector<bool> fails(Injector& injector, int calls, injected_failures::CallFacts facts = {}) {
  std::vector<bool> failed;
  for (int i = 0; i < calls; ++i) {
    failed.push_back(call_here(injector, EntryPoint::kMemCreate, facts).has_value());
  }
  return failed;
}

TEST(Injector, FailsTheCallsThatAreCounted) {
  Injector third(injected_failures::parse_spec("cuMemCreate@3"), "");
  EXPECT_THAT(fails(third, 5), ElementsAre(false, false, true, false, false));
  Injector on(injected_failures::parse_spec("cuMemCreate@3+"), "");
  EXPECT_THAT(fails(on, 5), ElementsAre(false, false, true, true, true));
  Injector some(injected_failures::parse_spec("cuMemCreate@2..3"), "");
  EXPECT_THAT(fails(some, 5), ElementsAre(false, true, true, false, false));
}

TEST(Injector, AnswersTheCode) {
  Injector usual(injected_failures::parse_spec("cuMemCreate"), "");
  EXPECT_EQ(call_here(usual, EntryPoint::kMemCreate), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(call_here(usual, EntryPoint::kMemMap), std::nullopt);
  Injector named(injected_failures::parse_spec("cuMemCreate=NOT_SUPPORTED"), "");
  EXPECT_EQ(call_here(named, EntryPoint::kMemCreate), CUDA_ERROR_NOT_SUPPORTED);
  // A call that matches the pattern but cannot fail with this code is made.
  Injector pattern(injected_failures::parse_spec("cuMem*=OUT_OF_MEMORY"), "");
  EXPECT_EQ(call_here(pattern, EntryPoint::kMemMap), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(call_here(pattern, EntryPoint::kMemSetAccess), std::nullopt);
}

TEST(Injector, CountsOnlyWhatTheConditionsHoldFor) {
  Injector large(injected_failures::parse_spec("cuMemCreate[size=4M..]@1"), "");
  EXPECT_THAT(fails(large, 2, {.size = 2u << 20}), ElementsAre(false, false));
  EXPECT_THAT(fails(large, 2, {.size = 4u << 20}), ElementsAre(true, false));
  Injector second(injected_failures::parse_spec("cuMemCreate[device=1]"), "");
  EXPECT_THAT(fails(second, 1, {.device = 0}), ElementsAre(false));
  EXPECT_THAT(fails(second, 1, {.device = 1}), ElementsAre(true));
  EXPECT_THAT(fails(second, 1), ElementsAre(false));
}

TEST(Injector, ChanceRepeats) {
  Injector one(injected_failures::parse_spec("cuMemCreate[chance=0.5,seed=3]"), "");
  Injector same(injected_failures::parse_spec("cuMemCreate[chance=0.5,seed=3]"), "");
  Injector other(injected_failures::parse_spec("cuMemCreate[chance=0.5,seed=4]"), "");
  const auto row = fails(one, 64);
  EXPECT_EQ(row, fails(same, 64));
  EXPECT_NE(row, fails(other, 64));
}

TEST(Injector, KnowsPlacesApart) {
  Injector learns({}, "/nowhere/log");
  for (int i = 0; i < 3; ++i) call_here(learns, EntryPoint::kMemMap);
  grow_there(learns, EntryPoint::kMemMap);
  const auto seen = learns.seen();
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->sites.size(), 2u);
  EXPECT_NE(seen->sites[0].number, seen->sites[1].number);
  std::uint64_t calls[] = {seen->sites[0].calls, seen->sites[1].calls};
  EXPECT_EQ(std::max(calls[0], calls[1]), 3u);
  EXPECT_EQ(std::min(calls[0], calls[1]), 1u);
  EXPECT_EQ(seen->injections, 0u);
}

// Names come from the symbolizer, which a test's own process does not have: tools/fail/fail_test.py
// tests them.
TEST(Injector, FailsNowhereElse) {
  Injector nowhere(injected_failures::parse_spec("cuMemMap[at=no_such_file.cc:1]"), "");
  EXPECT_EQ(grow_there(nowhere, EntryPoint::kMemMap), std::nullopt);
  Injector inside(injected_failures::parse_spec("cuMemMap[in=no_such_function]"), "");
  EXPECT_EQ(grow_there(inside, EntryPoint::kMemMap), std::nullopt);
}

TEST(Injector, CountsTheCallsThatFollow) {
  Injector injector(injected_failures::parse_spec("cuMemMap@1"), "");
  call_here(injector, EntryPoint::kMemCreate);
  EXPECT_EQ(injector.seen()->calls_after, 0u);
  call_here(injector, EntryPoint::kMemMap);
  EXPECT_EQ(injector.seen()->calls_after, 0u);
  EXPECT_EQ(injector.seen()->injections, 1u);
  call_here(injector, EntryPoint::kMemMap);
  call_here(injector, EntryPoint::kMemRelease);
  EXPECT_EQ(injector.seen()->calls_after, 2u);
}

TEST(Injector, LeavesErrnoAlone) {
  Injector injector(injected_failures::parse_spec("cuMemMap[in=nothing_like_it]"), "");
  errno = 42;
  call_here(injector, EntryPoint::kMemMap);
  EXPECT_EQ(errno, 42);
}

TEST(Injector, ThreadsShareItsCount) {
  Injector injector(injected_failures::parse_spec("cuMemCreate@100"), "");
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) failed += call_here(injector, EntryPoint::kMemCreate) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 1);
}

TEST(CallFacts, ReadsSizeAndDevice) {
  CUmemAllocationProp prop{};
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = 2;
  const auto create = call_facts(calls::MemCreate{nullptr, 4u << 20, &prop, 0});
  EXPECT_EQ(create.size, 4u << 20);
  EXPECT_EQ(create.device, 2);
  EXPECT_EQ(call_facts(calls::MemCreate{nullptr, 1, nullptr, 0}).device, -1);
  EXPECT_EQ(call_facts(calls::MemRelease{1}).size, injected_failures::kNoLimit);
}

TEST(Site, ItsTextHasSixteenDigits) { EXPECT_EQ(site_text(0x1f), "000000000000001f"); }

}  // namespace
}  // namespace cuvmm::shim
