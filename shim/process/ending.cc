// SPDX-License-Identifier: Apache-2.0
#include "shim/process/ending.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "shim/session/thread_state.h"

namespace cuvmm::shim {

bool Ending::claim() noexcept {
  const void* holder = nullptr;
  if (state_.compare_exchange_strong(holder, &t_state, std::memory_order_acq_rel)) return true;
  if (holder == &t_state) return false;
  const int saved = errno;
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 1'000'000};
  constexpr int kNaps = 10'000;
  for (int i = 0; i < kNaps && state_.load(std::memory_order_acquire) != &kDone; ++i) {
    ::syscall(SYS_nanosleep, &kNap, nullptr);
  }
  errno = saved;
  return false;
}

}  // namespace cuvmm::shim
