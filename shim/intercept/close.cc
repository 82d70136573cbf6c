// SPDX-License-Identifier: Apache-2.0
// The program's close(): of a descriptor that it exported or imported from, and of one that an
// import made the driver's. All others go on at once.
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

// Early, because close() may be called where the loader must not: in signal handlers. Whoever calls
// before this gets the kernel's.
[[gnu::constructor]] void find_next() {
  void* const found = cuvmm::shim::libc_function("close", reinterpret_cast<const void*>(&::close));
  g_next.store(reinterpret_cast<Close>(found), std::memory_order_release);
}

// The thread's last one: some programs close all numbers that there may be, one after the other.
struct LastClose {
  std::uintptr_t from = 0;
  int fd = -1;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local LastClose t_last;

// Whether that ends a descriptor of memory.
[[gnu::noinline]] bool tell(int fd, bool sweeps, const cuvmm::shim::Caller& caller) noexcept {
  cuvmm::shim::Process* const process = cuvmm::shim::hears_of(caller);
  if (!process) return false;
  const int saved = errno;
  const bool ended = process->session().closing(fd, sweeps, caller);
  errno = saved;
  return ended;
}

}  // namespace

// Nothing of ours is held while the next one runs: it is a cancellation point.
extern "C" __attribute__((visibility("default"))) int close(int fd) {
  const cuvmm::shim::Caller caller = CUVMM_CALLER;
  const LastClose last = t_last;
  t_last = {caller.return_address, fd};
  if (cuvmm::shim::g_tracked.has(fd)) [[unlikely]] {
    const bool beside = last.fd == fd - 1 || last.fd == fd + 1;
    // Two descriptors that one piece of code closes are no sweep.
    if (tell(fd, beside && last.from == caller.return_address, caller)) t_last = {};
  }
  const Close next = g_next.load(std::memory_order_acquire);
  return next ? next(fd) : static_cast<int>(::syscall(SYS_close, fd));
}
