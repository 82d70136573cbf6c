// SPDX-License-Identifier: Apache-2.0
#include "shim/output/private_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cuvmm::shim {
namespace {

int new_file() { return ::memfd_create("file", 0); }

TEST(PrivateDescriptor, MovesToAHighNumberThatExecCloses) {
  const int low = new_file();
  PrivateDescriptor descriptor;
  descriptor.keep(low);
  ASSERT_GT(descriptor.get(), 63);
  EXPECT_EQ(::fcntl(low, F_GETFD), -1);
  EXPECT_EQ(::fcntl(descriptor.get(), F_GETFD), FD_CLOEXEC);
  descriptor.close();
  EXPECT_EQ(descriptor.get(), -1);
}

TEST(PrivateDescriptor, IsGoneWhenTheProgramClosesIt) {
  PrivateDescriptor descriptor;
  descriptor.keep(new_file());
  ::close(descriptor.get());
  EXPECT_EQ(descriptor.get(), -1);
}

TEST(PrivateDescriptor, IsNotTheFileThatTheProgramOpensUnderItsNumber) {
  PrivateDescriptor descriptor;
  descriptor.keep(new_file());
  const int number = descriptor.get();
  const int theirs = new_file();
  ASSERT_EQ(::dup2(theirs, number), number);
  EXPECT_EQ(descriptor.get(), -1);
  descriptor.close();
  EXPECT_NE(::fcntl(number, F_GETFD), -1);
  ::close(number);
  ::close(theirs);
}

TEST(PrivateDescriptor, TellsItsFileAfterItLetGoOfIt) {
  const int file = new_file(), other = new_file();
  PrivateDescriptor descriptor;
  descriptor.keep_copy(file);
  descriptor.close_but_remember();
  EXPECT_EQ(descriptor.get(), -1);
  EXPECT_TRUE(descriptor.is_same_file(file));
  EXPECT_FALSE(descriptor.is_same_file(other));
  ::close(file);
  ::close(other);
}

TEST(PrivateDescriptor, KeepsNothingOfAClosedOne) {
  PrivateDescriptor descriptor;
  descriptor.keep(-1);
  EXPECT_EQ(descriptor.get(), -1);
  EXPECT_FALSE(descriptor.is_same_file(0));
}

}  // namespace
}  // namespace cuvmm::shim
