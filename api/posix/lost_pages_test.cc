// SPDX-License-Identifier: Apache-2.0
#include "api/posix/lost_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace cuvmm {
namespace {

constexpr std::size_t kBytes = 16 * 4096;

// A mapped file without a name, all of whose bytes have one value.
class Mapped {
 public:
  Mapped() : fd_(::memfd_create("lost-pages", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(fd_, kBytes), 0);
    memory_ = static_cast<volatile char*>(
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    for (std::size_t i = 0; i < kBytes; ++i) memory_[i] = 7;
  }
  ~Mapped() {
    ::munmap(const_cast<char*>(memory_), kBytes);
    ::close(fd_);
  }
  void cut(std::size_t bytes) const { ASSERT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes)), 0); }
  const void* begin() const { return const_cast<const char*>(memory_); }
  volatile char& operator[](std::size_t i) const { return memory_[i]; }

 private:
  int fd_;
  volatile char* memory_;
};

TEST(LostPages, WhatIsBehindTheCutIsZeroAndTheRestStays) {
  survive_lost_pages();
  const Mapped file;
  guard_pages(file.begin(), kBytes);
  file.cut(4 * 4096);
  EXPECT_EQ(file[8 * 4096], 0);
  EXPECT_EQ(file[5 * 4096], 0) << "before the place that was touched first";
  EXPECT_EQ(file[kBytes - 1], 0);
  file[kBytes - 1] = 9;
  EXPECT_EQ(file[kBytes - 1], 9);
  EXPECT_EQ(file[4 * 4096 - 1], 7);
  EXPECT_TRUE(lost_pages(file.begin()));
  forget_pages(file.begin());
}

TEST(LostPages, AMappingThatIsWholeLosesNothing) {
  const Mapped file;
  guard_pages(file.begin(), kBytes);
  EXPECT_FALSE(replace_lost_pages(static_cast<const char*>(file.begin()) + kBytes));
  EXPECT_FALSE(lost_pages(file.begin()));
  forget_pages(file.begin());
  EXPECT_FALSE(replace_lost_pages(file.begin()));
  EXPECT_EQ(file[0], 7);
}

TEST(LostPagesDeathTest, OtherMemoryStillEndsTheProcess) {
  EXPECT_EXIT(
      {
        survive_lost_pages();
        const Mapped file;
        file.cut(0);
        std::exit(file[0]);
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace cuvmm
