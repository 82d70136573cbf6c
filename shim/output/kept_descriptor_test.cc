// SPDX-License-Identifier: Apache-2.0
#include "shim/output/kept_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cuvmm::shim {
namespace {

int new_file() { return ::memfd_create("kept", 0); }

TEST(KeptDescriptor, MovesToAHighNumberThatExecCloses) {
  const int low = new_file();
  KeptDescriptor kept;
  kept.keep(low);
  ASSERT_GT(kept.get(), 63);
  EXPECT_EQ(::fcntl(low, F_GETFD), -1);
  EXPECT_EQ(::fcntl(kept.get(), F_GETFD), FD_CLOEXEC);
  kept.close();
  EXPECT_EQ(kept.get(), -1);
}

TEST(KeptDescriptor, IsGoneWhenTheProgramClosesIt) {
  KeptDescriptor kept;
  kept.keep(new_file());
  ::close(kept.get());
  EXPECT_EQ(kept.get(), -1);
}

TEST(KeptDescriptor, IsNotTheFileThatTheProgramOpensUnderItsNumber) {
  KeptDescriptor kept;
  kept.keep(new_file());
  const int number = kept.get();
  const int theirs = new_file();
  ASSERT_EQ(::dup2(theirs, number), number);
  EXPECT_EQ(kept.get(), -1);
  kept.close();
  EXPECT_NE(::fcntl(number, F_GETFD), -1);
  ::close(number);
  ::close(theirs);
}

TEST(KeptDescriptor, TellsItsFileAfterItLetGoOfIt) {
  const int file = new_file(), other = new_file();
  KeptDescriptor kept;
  kept.keep_copy(file);
  kept.close_but_remember();
  EXPECT_EQ(kept.get(), -1);
  EXPECT_TRUE(kept.is_same_file(file));
  EXPECT_FALSE(kept.is_same_file(other));
  ::close(file);
  ::close(other);
}

TEST(KeptDescriptor, KeepsNothingOfAClosedOne) {
  KeptDescriptor kept;
  kept.keep(-1);
  EXPECT_EQ(kept.get(), -1);
  EXPECT_FALSE(kept.is_same_file(0));
}

}  // namespace
}  // namespace cuvmm::shim
