// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/stacks.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <thread>
#include <vector>

#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {
namespace {

[[gnu::noinline]] StackId captured_here() { return capture_stack(CUVMM_CALLER); }

// noipa: the functions are neither inlined nor cloned, so that each has its own name and frame.
#if defined(__clang__)
#define KEEP_FRAME [[gnu::noinline]]
#else
#define KEEP_FRAME [[gnu::noipa]]
#endif
KEEP_FRAME StackId from_first() {
  const StackId id = captured_here();
  asm volatile("" ::: "memory");
  return id;
}
KEEP_FRAME StackId from_second() {
  const StackId id = captured_here();
  asm volatile("" ::: "memory");
  return id;
}
KEEP_FRAME StackId deeper(int depth) {
  const StackId id = depth == 0 ? from_first() : deeper(depth - 1);
  asm volatile("" ::: "memory");
  return id;
}

TEST(Stacks, ALoopGetsOneStack) {
  StackId ids[3];
  for (StackId& id : ids) id = from_first();
  EXPECT_NE(ids[0], 0u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[1], ids[2]);
}

TEST(Stacks, DifferentWaysAreDifferentStacks) {
  std::vector<StackId> ids{from_first(), from_second()};
  for (int depth = 0; depth < 10; ++depth) ids.push_back(deeper(depth));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(ids[i], ids[j]) << i << " " << j;
  }
}

KEEP_FRAME StackId made_by(FunctionTag function, const char* name) {
  const StackId id = capture_maker(CUVMM_CALLER, function, name);
  asm volatile("" ::: "memory");
  return id;
}
KEEP_FRAME StackId from_maker(FunctionTag function, const char* name) {
  const StackId id = made_by(function, name);
  asm volatile("" ::: "memory");
  return id;
}
KEEP_FRAME StackId deep_maker(int depth, FunctionTag function, const char* name) {
  const StackId id = depth == 0 ? made_by(function, name) : deep_maker(depth - 1, function, name);
  asm volatile("" ::: "memory");
  return id;
}

TEST(Stacks, AMakerIsNoted) {
  StackId ids[3];
  for (StackId& id : ids) id = from_maker(1, "cuMemCreate");
  EXPECT_NE(ids[0], 0u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[1], ids[2]);
  EXPECT_STREQ(stack_function(ids[0]), "cuMemCreate");
  EXPECT_FALSE(called_by_several(ids[0]));
}

TEST(Stacks, AStackThatThreadsShareIsNotedByEach) {
  StackId here = 0, there = 0;
  const auto make = [](StackId& id) { id = deep_maker(3, 2, "cuMemMap"); };
  // Each thread has walks of its own, and finds the note of the other.
  std::thread(make, std::ref(here)).join();
  std::thread(make, std::ref(there)).join();
  EXPECT_EQ(here, there);
  EXPECT_STREQ(stack_function(here), "cuMemMap");
}

// Python's foreign functions are called from one place, whatever they are.
TEST(Stacks, AStackThatMakesByTwoFunctionsNamesNone) {
  StackId ids[4];
  for (int i = 0; i < 4; ++i)
    ids[i] = deep_maker(1, i % 2 ? 4 : 3, i % 2 ? "cuMemMap" : "cuMemUnmap");
  for (const StackId id : ids) EXPECT_EQ(id, ids[0]);
  EXPECT_TRUE(called_by_several(ids[0]));
  EXPECT_STREQ(stack_function(ids[0]), "");
}

TEST(Stacks, AMakersStackOfAnyDepthIsRecognised) {
  for (const int depth : {0, 1, 20, 60, 200}) {
    StackId ids[3];
    for (StackId& id : ids) id = deep_maker(depth, 5, "cuMemRelease");
    EXPECT_NE(ids[0], 0u) << depth;
    EXPECT_EQ(ids[0], ids[1]) << depth;
    EXPECT_EQ(ids[1], ids[2]) << depth;
    EXPECT_STREQ(stack_function(ids[0]), "cuMemRelease") << depth;
  }
}

// The cache must not confuse two callers of one place: equal function, equal stack pointer, but a
// different function above.
KEEP_FRAME StackId one_caller() {
  const StackId id = from_first();
  asm volatile("" ::: "memory");
  return id;
}
KEEP_FRAME StackId other_caller() {
  const StackId id = from_first();
  asm volatile("" ::: "memory");
  return id;
}
TEST(Stacks, TheSamePlaceUnderAnotherCallerIsAnotherStack) {
  for (int i = 0; i < 3; ++i) {
    const auto one = stack_frames(one_caller());
    const auto other = stack_frames(other_caller());
    ASSERT_GT(one.size(), 2u);
    ASSERT_GT(other.size(), 2u);
    EXPECT_EQ(one[0], other[0]);
    EXPECT_NE(one[1], other[1]);
  }
}

TEST(Stacks, DeepStacksAreCut) {
  const auto frames = stack_frames(deeper(200));
  EXPECT_EQ(frames.size(), kMaxFrames);
}

// The frame between is larger than the distances that a stored walk can hold: its stack is unwound
// each time.
KEEP_FRAME StackId behind_a_large_frame() {
  char large[600 * 1024];
  asm volatile("" : : "r"(large) : "memory");  // the array has to exist
  const StackId id = from_first();
  asm volatile("" : : "r"(large) : "memory");
  return id;
}
TEST(Stacks, FramesFarApartAreFoundAgainAsWell) {
  StackId ids[4];
  for (StackId& id : ids) id = behind_a_large_frame();
  for (const StackId id : ids) EXPECT_EQ(id, ids[0]);
  EXPECT_NE(ids[0], from_first());
  EXPECT_GT(stack_frames(ids[0]).size(), 2u);
}

TEST(Stacks, EveryThreadHasItsOwnCache) {
  const StackId mine = from_first();
  StackId theirs = 0;
  std::thread([&] { theirs = from_first(); }).join();
  EXPECT_NE(theirs, 0u);
  EXPECT_NE(mine, theirs);  // another thread's start function lies above
  EXPECT_EQ(stack_frames(mine)[0], stack_frames(theirs)[0]);
}

// A signal handler that forks may have interrupted its thread under one of the locks, and the
// interrupted code goes on to hold it.
TEST(Stacks, AForkInASignalHandlerLeavesTheInterruptedLocks) {
  const auto all = [](const StackLocks& taken) {
    return std::array{taken.ranges, taken.memory, taken.python_names, taken.table};
  };
  const StackLocks interrupted = lock_stacks();
  EXPECT_THAT(all(interrupted), testing::Each(true));
  for (int fork = 0; fork < 2; ++fork) {
    const StackLocks handlers = lock_stacks();
    EXPECT_THAT(all(handlers), testing::Each(false)) << "somebody let go of them";
    unlock_stacks(handlers);
  }
  unlock_stacks(interrupted);
  const StackLocks free = lock_stacks();
  EXPECT_THAT(all(free), testing::Each(true));
  unlock_stacks(free);
}

// With handlers at all of its instructions: the walk that the thread stores and the walk that a
// handler stores in the same place do not mix.
volatile sig_atomic_t g_captures = 0;
KEEP_FRAME void fill_the_cache(int depth) {
  for (int i = 0; i < depth; ++i) deeper(i);
  asm volatile("" ::: "memory");
}
TEST(Stacks, AHandlerThatCapturesMixesNothing) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {
    fill_the_cache(8);
    g_captures = g_captures + 1;
  };
  std::vector<StackId> known;
  for (int depth = 0; depth < 40; ++depth) known.push_back(deeper(depth));
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{{0, 200}, {0, 200}};
  const itimerval never{};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  std::uint64_t mixed = 0;
  while (g_captures < 500) {
    for (std::size_t depth = 0; depth < known.size(); ++depth) {
      const StackId id = deeper(static_cast<int>(depth));
      // A different stack of this place has a different caller in the test.
      mixed += id == 0 || stack_frames(id).size() != stack_frames(known[depth]).size() ||
               stack_frames(id).front() != stack_frames(known[depth]).front();
    }
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(mixed, 0u);
}

TEST(Stacks, NoStackHasNoFrames) {
  EXPECT_TRUE(stack_frames(0).empty());
  EXPECT_TRUE(stack_frames(~StackId{0}).empty());
}

TEST(Symbolizer, AnUnknownAddressHasNoName) {
  const std::uintptr_t addresses[] = {1};
  const auto frames = symbolize(addresses);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].module, "");
}

}  // namespace
}  // namespace cuvmm::shim
