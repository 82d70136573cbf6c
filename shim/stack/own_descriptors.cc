// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/own_descriptors.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace cuvmm::shim {

namespace {

constexpr int kFirstOwn = 3;  // 0, 1 and 2 stay open

struct Errand {
  void (*work)(void*);
  void* argument;
  int limit;
};

// The shim has its own close(), so this makes the system calls itself.
int run_errand(void* given) {
  const Errand& errand = *static_cast<const Errand*>(given);
#ifdef SYS_close_range
  const bool closed = ::syscall(SYS_close_range, kFirstOwn, ~0u, 0) == 0;
#else
  const bool closed = false;
#endif
  if (!closed) {
    for (int fd = kFirstOwn; fd < errand.limit; ++fd) ::syscall(SYS_close, fd);
  }
  errand.work(errand.argument);
  return 0;
}

int descriptor_limit() {
  constexpr rlim_t kMost = 1 << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int>(std::min(limit.rlim_cur, kMost));
}

// Signals stay blocked, because a handler of the program must not run in the other process.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

// The kernel gives out the lowest free number, so the free ones are near the limit.
bool has_free_descriptors() noexcept {
  constexpr int kEnough = 16;
  const int saved = errno;
  const int limit = descriptor_limit();
  int free = limit == 0 ? kEnough : 0;
  for (int fd = limit - 1; fd >= 0 && free < kEnough; --fd) {
    free += ::syscall(SYS_fcntl, fd, F_GETFD) < 0 && errno == EBADF;
  }
  errno = saved;
  return free >= kEnough;
}

void call_with_own_descriptors(void (*work)(void*), void* argument) noexcept {
  constexpr std::size_t kStack = std::size_t{2} << 20;
  const int saved = errno;
  void* const stack = kSanitized
                          ? MAP_FAILED
                          : ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    work(argument);
    errno = saved;
    return;
  }
  pid_t other = -1;
  {
    const AllSignalsBlocked no_signals;
    Errand errand{work, argument, descriptor_limit()};
    // No signal tells of its end, and wait() of the program does not see it.
    other = ::clone(run_errand, static_cast<std::byte*>(stack) + kStack, CLONE_VM | CLONE_VFORK,
                    &errand);
    while (other > 0 && ::syscall(SYS_wait4, other, nullptr, __WCLONE, nullptr) < 0 &&
           errno == EINTR) {
    }
  }
  ::munmap(stack, kStack);
  if (other < 0) work(argument);
  errno = saved;
}

}  // namespace cuvmm::shim
