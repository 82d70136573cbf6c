// SPDX-License-Identifier: Apache-2.0
// Files are read in a process whose descriptors are used up, and the program sees nothing of it.
#include "shim/stack/own_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "shim/objects/alive.h"

namespace cuvmm::shim {
namespace {

// Runs `body` in a child process that has no descriptor left, except for `free` of them.
template <class Body>
int in_exhausted_child(int free, const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    int last = -1;
    for (int fd; (fd = ::open("/dev/null", O_RDONLY)) >= 0;) last = fd;
    for (int i = 0; i < free; ++i) ::close(last - i);
    ::_exit(body());
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool can_open() {
  const int fd = ::open("/dev/null", O_RDONLY);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

TEST(OwnDescriptors, AProgramWithFreeOnesIsAsked) {
  EXPECT_TRUE(has_free_descriptors());
  const pid_t here = ::getpid();
  pid_t there = 0;
  with_descriptors([&]() noexcept { there = ::getpid(); });
  EXPECT_EQ(there, here);
}

TEST(OwnDescriptors, AFewAreLeftToTheProgram) {
  EXPECT_EQ(in_exhausted_child(4, [] { return has_free_descriptors() ? 1 : 0; }), 0);
  EXPECT_EQ(in_exhausted_child(32, [] { return has_free_descriptors() ? 0 : 1; }), 0);
}

TEST(OwnDescriptors, WorkOpensFilesAlthoughNoneIsFree) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer knows no process that shares the memory";
  EXPECT_EQ(in_exhausted_child(0,
                               [] {
                                 if (can_open()) return 1;
                                 bool opened = false;
                                 int value = 0;
                                 thread_local int own = 7;
                                 with_descriptors([&]() noexcept {
                                   opened = can_open();
                                   value = own;
                                 });
                                 if (can_open()) return 2;  // the program has none as before
                                 return opened && value == 7 ? 0 : 3;
                               }),
            0);
}

TEST(OwnDescriptors, TheProgramsWaitAndSignalsSeeNothing) {
  EXPECT_EQ(in_exhausted_child(0,
                               [] {
                                 static volatile sig_atomic_t signals = 0;
                                 ::signal(SIGCHLD, [](int) { signals = signals + 1; });
                                 const pid_t child = ::fork();
                                 if (child == 0) {
                                   ::pause();
                                   ::_exit(0);
                                 }
                                 errno = 123;
                                 with_descriptors([]() noexcept { can_open(); });
                                 if (errno != 123) return 1;
                                 if (signals != 0) return 2;
                                 if (::waitpid(-1, nullptr, WNOHANG) != 0) return 3;
                                 rlimit limit{};
                                 ::getrlimit(RLIMIT_NOFILE, &limit);
                                 if (limit.rlim_cur != 64) return 4;
                                 ::kill(child, SIGKILL);
                                 return ::waitpid(-1, nullptr, 0) == child ? 0 : 5;
                               }),
            0);
}

TEST(OwnDescriptors, OtherThreadsAreFoundAlthoughNoneIsFree) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer knows no process that shares the memory";
  const int code = in_exhausted_child(0, [] {
    int pipes[2] = {-1, -1};
    ::close(10);
    ::close(11);
    if (::pipe(pipes) != 0) return 1;
    std::thread sleeper([&] {
      char byte;
      if (::read(pipes[0], &byte, 1) != 1) std::abort();
    });
    const std::size_t found = other_threads().size();
    if (::write(pipes[1], "x", 1) != 1) return 2;
    sleeper.join();
    return found == 1 ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace cuvmm::shim
