// SPDX-License-Identifier: Apache-2.0
// A clock that costs a few nanoseconds: the counter of the CPU, calibrated once.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace cuvmm::bench {

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  unsigned core = 0;
  return __rdtscp(&core);  // waits until earlier instructions are done
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Nanoseconds per tick, measured over 20 ms at the first use.
inline double nanoseconds_per_tick() {
  static const double measured = [] {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const std::uint64_t first = ticks();
    while (Clock::now() - start < std::chrono::milliseconds(20)) {
    }
    const std::uint64_t last = ticks();
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
           static_cast<double>(last - first);
  }();
  return measured;
}

}  // namespace cuvmm::bench
