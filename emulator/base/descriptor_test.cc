// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace cuvmm::emulator {
namespace {

int file() { return memfd_create("descriptor_test", MFD_CLOEXEC); }
bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(Descriptor, ClosesWhatItOwns) {
  const int fd = file();
  {
    const Descriptor owned(fd);
    EXPECT_EQ(owned.get(), fd);
    EXPECT_TRUE(owned.had());
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, MovesOnce) {
  const int fd = file();
  Descriptor first(fd);
  Descriptor second(std::move(first));
  EXPECT_FALSE(first.had());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), fd);
  Descriptor third;
  EXPECT_EQ(third.get(), -1);
  third = std::move(second);
  EXPECT_EQ(third.get(), fd);
  third = Descriptor();
  EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, IsLostWhenTheProgramClosesIt) {
  const int fd = file();
  const Descriptor owned(fd);
  close(fd);
  EXPECT_EQ(owned.get(), -1);
  EXPECT_TRUE(owned.had());
}

TEST(Descriptor, LeavesAnotherFileThatTookItsNumberAlone) {
  const int fd = file();
  {
    const Descriptor owned(fd);
    const int users = file();
    ASSERT_EQ(dup2(users, fd), fd);
    close(users);
    EXPECT_EQ(owned.get(), -1);
  }
  EXPECT_TRUE(is_open(fd));
  close(fd);
}

}  // namespace
}  // namespace cuvmm::emulator
