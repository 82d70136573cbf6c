// SPDX-License-Identifier: Apache-2.0
// The program's close(): of a descriptor that it exported, and of one that an import made the
// driver's. All others go on at once.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "shim/descriptors/tracked.h"
#include "shim/process/interrupted.h"
#include "shim/process/process.h"
#include "shim/session/thread_state.h"

// Where this library begins, and where its code ends.
extern "C" const char __ehdr_start;  // NOLINT(bugprone-reserved-identifier): the linker's name
extern "C" const char etext;

namespace {

using cuvmm::shim::Caller;
using cuvmm::shim::Process;

using Close = int (*)(int);
constinit std::atomic<Close> g_next{nullptr};

// Early, because close() may be called where the loader must not: in signal handlers. Whoever calls
// before this gets the kernel's.
[[gnu::constructor]] void find_next() {
  g_next.store(reinterpret_cast<Close>(::dlsym(RTLD_NEXT, "close")), std::memory_order_release);
}

// Our own files get the numbers that the driver let go of.
bool is_ours(const Caller& caller) {
  const std::uintptr_t from = caller.return_address;
  return (from >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) &&
          from < reinterpret_cast<std::uintptr_t>(&etext)) ||
         cuvmm::shim::t_state.on_own_stack;
}

// A child of vfork shares this memory, and a handler may have interrupted us.
[[gnu::noinline]] void tell(int fd, const Caller& caller) noexcept {
  if (is_ours(caller)) return;
  Process* const process = Process::if_made();
  if (!process || !process->is_current() || cuvmm::shim::in_signal_handler()) return;
  const int saved = errno;
  process->session().closing(fd, caller);
  errno = saved;
}

}  // namespace

// Nothing of ours is held while the next one runs: it is a cancellation point.
extern "C" __attribute__((visibility("default"))) int close(int fd) {
  if (cuvmm::shim::g_tracked.has(fd)) [[unlikely]]
    tell(fd, CUVMM_CALLER);
  const Close next = g_next.load(std::memory_order_acquire);
  return next ? next(fd) : static_cast<int>(::syscall(SYS_close, fd));
}
