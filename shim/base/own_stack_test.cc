// SPDX-License-Identifier: Apache-2.0
#include "shim/base/own_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "shim/testing/mock_values.h"

namespace cuvmm::shim {
namespace {

// With AddressSanitizer the work stays on the present stack (own_stack.cc).
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kStaysHere = true;
#elif defined(__has_feature)
constexpr bool kStaysHere = __has_feature(address_sanitizer);
#else
constexpr bool kStaysHere = false;
#endif

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

TEST(OwnStack, RunsWorkApartAndComesBack) {
  OwnStack stack;
  stack.reserve();
  std::uintptr_t inside = 0;
  bool held = false;
  EXPECT_TRUE(stack.run(
      [&] {
        inside = here();
        held = stack.held_here();
      },
      kSoon));
  EXPECT_NE(inside, 0u);
  EXPECT_TRUE(held);
  EXPECT_FALSE(stack.held_here());
  const std::uintptr_t outside = here();
  const std::uintptr_t apart = inside > outside ? inside - outside : outside - inside;
  EXPECT_EQ(apart > std::uintptr_t{64} << 10, !kStaysHere);
}

TEST(OwnStack, ExceptionsAreCaughtOnIt) {
  OwnStack stack;
  stack.reserve();
  bool caught = false;
  stack.run(
      [&] {
        try {
          throw std::runtime_error("x");
        } catch (const std::exception&) {
          caught = true;
        }
      },
      kSoon);
  EXPECT_TRUE(caught);
}

TEST(OwnStack, WorksWithoutMemory) {
  OwnStack stack;
  int runs = 0;
  EXPECT_TRUE(stack.run([&] { ++runs; }, kSoon));
  EXPECT_EQ(runs, 1);
}

TEST(OwnStack, WhoIsOnOneStaysThere) {
  OwnStack outer, inner;
  outer.reserve();
  inner.reserve();
  bool held = true;
  EXPECT_TRUE(outer.run([&] { inner.run([&] { held = inner.held_here(); }, kSoon); }, kSoon));
  EXPECT_FALSE(held);
}

TEST(OwnStack, HoldsSignalsBackButNoFaults) {
  OwnStack stack;
  stack.reserve();
  sigset_t inside, after;
  stack.run([&] { pthread_sigmask(SIG_BLOCK, nullptr, &inside); }, kSoon);
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(sigismember(&inside, SIGALRM), 1);
  EXPECT_EQ(sigismember(&inside, SIGSEGV), 0);
  EXPECT_EQ(sigismember(&after, SIGALRM), 0);
}

TEST(OwnStack, ASecondThreadWaitsOrGivesUp) {
  OwnStack stack;
  stack.reserve();
  std::atomic<bool> on{false}, leave{false};
  std::thread first([&] {
    stack.run(
        [&] {
          on = true;
          while (!leave) std::this_thread::yield();
        },
        kLong);
  });
  while (!on) std::this_thread::yield();
  bool ran = false;
  EXPECT_FALSE(stack.run([&] { ran = true; }, kSoon));
  EXPECT_FALSE(ran);
  leave = true;
  EXPECT_TRUE(stack.run([&] { ran = true; }, kLong));
  EXPECT_TRUE(ran);
  first.join();
}

}  // namespace
}  // namespace cuvmm::shim
