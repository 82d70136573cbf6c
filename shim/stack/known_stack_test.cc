// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/known_stack.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

namespace cuvmm::shim {
namespace {

KnownStack g_known;
volatile sig_atomic_t g_handled = 0;

void keep_another(int) {
  g_known.keep(0xb0, 2);
  g_handled = g_handled + 1;
}

TEST(KnownStack, IsFoundByItsKeyAlone) {
  KnownStack known{};
  EXPECT_FALSE(known.find(7));
  known.keep(7, 3);
  EXPECT_EQ(known.find(7), 3u);
  EXPECT_FALSE(known.find(8));
  known.keep(8, 4);
  EXPECT_FALSE(known.find(7));
}

// With handlers at all of its instructions, find() never returns the other key's stack.
TEST(KnownStack, AHandlerThatKeepsAnotherMixesNothing) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = keep_another;
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{{0, 20}, {0, 20}};
  const itimerval never{};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  std::uint64_t mixed = 0;
  while (g_handled < 3000) {
    for (int i = 0; i < 100; ++i) {
      g_known.keep(0xa0, 1);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      mixed += g_known.find(0xa0).value_or(1) != 1;
    }
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(mixed, 0u);
}

}  // namespace
}  // namespace cuvmm::shim
