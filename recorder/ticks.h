// SPDX-License-Identifier: Apache-2.0
// The clock of all records: the processor's counter, where there is one. Two moments on it and on a
// clock of the system tell the length of a tick.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace cuvmm::recorder {

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t now_ticks() noexcept {
#if defined(__x86_64__)
  // The builtin replaces <x86intrin.h>, because that header takes longer to compile than the rest
  // of this file.
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return clock_ns(CLOCK_MONOTONIC);
#endif
}

/// The length of a tick, from two moments. A nanosecond where the two are not different.
class TickRate {
 public:
  constexpr TickRate() = default;
  TickRate(std::uint64_t first_ticks, std::uint64_t first_ns, std::uint64_t last_ticks,
           std::uint64_t last_ns)
      : known_(last_ticks > first_ticks && last_ns > first_ns) {
    if (known_) {
      rate_ =
          static_cast<double>(last_ns - first_ns) / static_cast<double>(last_ticks - first_ticks);
    }
  }
  bool known() const { return known_; }
  /// At most 9e18, which a signed number of 64 bits holds.
  std::uint64_t ns(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>(std::min(static_cast<double>(ticks) * rate_, 9e18));
  }

 private:
  double rate_ = 1;
  bool known_ = false;
};

}  // namespace cuvmm::recorder
