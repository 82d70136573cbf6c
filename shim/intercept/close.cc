// SPDX-License-Identifier: Apache-2.0
// The program's close() of three kinds of descriptors: those that the program exported, those that
// it imported from, and those that an import gave to the driver. All other descriptors go on to the
// C library at once.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "shim/history/tracked.h"
#include "shim/intercept/program_call.h"
#include "shim/modules/libc_function.h"

namespace {

using Close = int (*)(int);
constinit std::atomic<Close> g_next{nullptr};

// Runs early, because close() may be called where the loader must not be: in signal handlers. A
// caller that comes before this gets the kernel's close.
[[gnu::constructor]] void find_next() {
  void* const found = cuvmm::shim::libc_function("close", reinterpret_cast<const void*>(&::close));
  g_next.store(reinterpret_cast<Close>(found), std::memory_order_release);
}

// The thread's last close: some programs close all possible numbers, one after the other.
struct LastClose {
  std::uintptr_t from = 0;
  int fd = -1;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local LastClose t_last;

// Returns whether the close ends a descriptor of memory.
[[gnu::noinline]] bool tell(int fd, bool sweeps, const cuvmm::shim::Caller& caller) noexcept {
  cuvmm::shim::Process* const process = cuvmm::shim::hears_of(caller);
  if (!process) return false;
  const int saved = errno;
  const bool ended = process->session().closing(fd, sweeps, caller);
  errno = saved;
  return ended;
}

}  // namespace

// Holds no lock while the next close() runs, because it is a cancellation point.
extern "C" __attribute__((visibility("default"))) int close(int fd) {
  const cuvmm::shim::Caller caller = CUVMM_CALLER;
  const LastClose last = t_last;
  t_last = {caller.return_address, fd};
  if (cuvmm::shim::g_tracked.has(fd)) [[unlikely]] {
    const bool beside = last.fd == fd - 1 || last.fd == fd + 1;
    // Two neighbouring descriptors of memory that one piece of code closes are no sweep.
    if (tell(fd, beside && last.from == caller.return_address, caller)) t_last = {};
  }
  const Close next = g_next.load(std::memory_order_acquire);
  return next ? next(fd) : static_cast<int>(::syscall(SYS_close, fd));
}
