// SPDX-License-Identifier: Apache-2.0
#include "api/posix/lost_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace cuvmm {

namespace {

struct Guarded {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};  // 0: not known yet
  std::atomic<bool> lost{false};
};
constinit Guarded g_guarded[64];

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

Guarded* find(const void* begin) {
  for (Guarded& one : g_guarded) {
    if (one.begin.load(std::memory_order_acquire) == number(begin)) return &one;
  }
  return nullptr;
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  // The thread repeats the access, which now ends the process.
  if (!replace_lost_pages(info->si_addr)) ::signal(signal, SIG_DFL);
}

}  // namespace

void guard_pages(const void* begin, std::size_t bytes) noexcept {
  for (Guarded& one : g_guarded) {
    std::uintptr_t nobody = 0;
    if (!one.begin.compare_exchange_strong(nobody, number(begin))) continue;
    one.lost.store(false);
    return one.bytes.store(bytes, std::memory_order_release);
  }
}

void forget_pages(const void* begin) noexcept {
  Guarded* const one = begin ? find(begin) : nullptr;
  if (!one) return;
  one->bytes.store(0);
  one->begin.store(0, std::memory_order_release);
}

bool replace_lost_pages(const void* address) noexcept {
  const int saved = errno;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t from = number(address) / page * page;
  for (Guarded& one : g_guarded) {
    const std::uintptr_t begin = one.begin.load(std::memory_order_acquire);
    const std::size_t bytes = one.bytes.load(std::memory_order_acquire);
    if (begin == 0 || from < begin || from - begin >= bytes) continue;
    void* const memory =
        ::mmap(reinterpret_cast<void*>(from), bytes - (from - begin), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    one.lost.store(true);
    errno = saved;
    return memory != MAP_FAILED;
  }
  errno = saved;
  return false;
}

bool lost_pages(const void* begin) noexcept {
  const Guarded* const one = find(begin);
  return one && one->lost.load();
}

void survive_lost_pages() noexcept {
  struct sigaction before {};
  if (::sigaction(SIGBUS, nullptr, &before) != 0) return;
  if ((before.sa_flags & SA_SIGINFO) || before.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_sigaction = &on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace cuvmm
