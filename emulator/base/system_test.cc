// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

namespace cuvmm::emulator {
namespace {

TEST(System, AFileTooLargeForTheLimitIsAnErrorAndNoSignal) {
  const int fd = memfd_create("system_test", MFD_CLOEXEC);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 8192;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_TRUE(sys_resize(fd, 8192));
  EXPECT_FALSE(sys_resize(fd, 8193));
  EXPECT_EQ(errno, EFBIG);
  EXPECT_EQ(sys_pwrite(fd, "abcd", 4, 8188), 4);
  EXPECT_EQ(sys_pwrite(fd, "abcd", 4, 8189), -1);
  EXPECT_EQ(sys_pwrite(fd, "abcd", 4, ~std::uint64_t{0}), -1);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  sys_close(fd);
}

// Each of these functions of the C library is a cancellation point, at which a pending cancel ends
// the thread.
TEST(System, NoCallIsACancellationPoint) {
  pthread_t thread;
  int steps = 0;
  const auto body = [](void* out) -> void* {
    pthread_cancel(pthread_self());
    const int fd = sys_open("/dev/zero", O_RDONLY | O_CLOEXEC);
    char byte = 1;
    sys_read(fd, &byte, 1);
    sys_pread(fd, &byte, 1, 0);
    sys_pwrite(fd, &byte, 1, 0);
    sys_random(&byte, 1);
    const std::atomic<std::uint64_t> number{0};
    sys_wait_while(number, 0, std::chrono::microseconds(1));
    sys_wake_all(number);
    sys_close(fd);
    *static_cast<int*>(out) = 1;
    // A thread that is really cancelled leaves a stack that AddressSanitizer reports.
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, &steps), 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, nullptr) << "and not PTHREAD_CANCELED";
  EXPECT_EQ(steps, 1);
}

TEST(System, AWaitEndsByAWakeOrAtOnceWhereTheNumberIsAnother) {
  std::atomic<std::uint64_t> number{7};
  sys_wait_while(number, 8, std::chrono::hours(1));
  std::thread other([&] {
    number.store(8);
    sys_wake_all(number);
  });
  while (number.load() == 7) sys_wait_while(number, 7, std::chrono::hours(1));
  other.join();
  sys_wait_while(number, 8, std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace cuvmm::emulator
