// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/thread_state.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

// A process called "a) b", with this state and this begin of its stack.
ThreadState read(const std::string& state, const std::string& start_stack) {
  return thread_state_of("7 (a) b) " + state +
                         " 1 7 7 0 -1 4194304 90 0 0 0 0 0 0 0 20 0 1 0 5177 2752512 220 "
                         "18446744073709551615 94 95 " +
                         start_stack + " 0 0 0 0\n");
}

TEST(ThreadState, IsReadBehindAnyName) {
  const ThreadState found = read("S", "140726");
  EXPECT_EQ(found.state, 'S');
  EXPECT_EQ(found.start, 5177u);
  EXPECT_EQ(found.start_stack, 140726u);
}

TEST(ThreadState, OfNoProcessIsDead) {
  EXPECT_TRUE(thread_state_of("").dead());
  EXPECT_TRUE(thread_state_of("7 (cut").dead());
  EXPECT_FALSE(thread_state_of("").runs_another_program(140726));
}

TEST(ThreadState, AnotherStackIsAnotherProgram) {
  EXPECT_TRUE(read("R", "140800").runs_another_program(140726));
  EXPECT_FALSE(read("R", "140726").runs_another_program(140726));
}

TEST(ThreadState, AnEndingProcessIsNoOtherProgram) {
  EXPECT_FALSE(read("R", "0").runs_another_program(140726));
  EXPECT_FALSE(read("Z", "0").runs_another_program(140726));
}

}  // namespace
}  // namespace cuvmm::tools
