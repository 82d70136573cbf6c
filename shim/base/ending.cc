// SPDX-License-Identifier: Apache-2.0
#include "shim/base/ending.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "shim/base/thread_state.h"

namespace cuvmm::shim {

namespace {

constexpr int kNapsForReport = 10'000;
// The rest of exit() after the last report takes microseconds, unless the machine is busy.
constexpr int kNapsForEnd = 5'000;

// Sleeps `naps` times, a millisecond each, unless the condition is met before.
template <class Condition>
void nap_until(int naps, const Condition& met) {
  const int saved = errno;
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < naps && !met(); ++i) ::syscall(SYS_nanosleep, &kNap, nullptr);
  errno = saved;
}

}  // namespace

bool Ending::is_others() const noexcept {
  const void* const owner = owner_.load(std::memory_order_acquire);
  return owner && owner != &t_state;
}

void Ending::note_leaving() noexcept {
  const auto mine = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  for (auto& thread : leaving_) {
    std::uint32_t nobody = 0;
    if (thread.compare_exchange_strong(nobody, mine)) return;
  }
}

bool Ending::leaves(std::uint32_t thread) const noexcept {
  for (const auto& one : leaving_) {
    if (one.load(std::memory_order_relaxed) == thread) return true;
  }
  return false;
}

bool Ending::claim() noexcept {
  const void* nobody = nullptr;
  if (owner_.compare_exchange_strong(nobody, &t_state, std::memory_order_acq_rel)) return true;
  leave_first();
  return false;
}

void Ending::wait_for_report() const noexcept {
  if (is_others()) nap_until(kNapsForReport, [this] { return over(); });
}

void Ending::leave_first() const noexcept {
  if (!is_others()) return;
  wait_for_report();
  nap_until(kNapsForEnd, [] { return false; });
}

}  // namespace cuvmm::shim
