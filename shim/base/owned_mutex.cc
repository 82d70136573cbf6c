// SPDX-License-Identifier: Apache-2.0
#include "shim/base/owned_mutex.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace cuvmm::shim {

namespace {

constexpr int kSpins = 100;  // some microseconds: longer than a thread holds the lock

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

// Makes the system call itself, because the C library's sleep is a cancellation point.
void nap() {
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 50'000};
  ::syscall(SYS_nanosleep, &kNap, nullptr);
}

}  // namespace

bool OwnedMutex::lock_within(std::chrono::milliseconds limit) noexcept {
  if (held_here()) return false;
  if (try_lock()) return true;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  return wait(&deadline);
}

bool OwnedMutex::wait(const std::chrono::steady_clock::time_point* deadline) noexcept {
  contended_.fetch_add(1, std::memory_order_relaxed);
  Patience patience;
  for (int tries = 0;; ++tries) {
    if (!holder_.load(std::memory_order_relaxed) && try_lock()) return true;
    if (tries < kSpins) {
      pause();
      continue;
    }
    const bool late = tries >= kSpins + Patience::kYields;
    if (late && deadline && std::chrono::steady_clock::now() >= *deadline) return false;
    patience.wait();
  }
}

void Patience::wait() noexcept {
  if (tries_ < kYields) {
    ++tries_;
    ::sched_yield();
  } else {
    nap();
  }
}

}  // namespace cuvmm::shim
