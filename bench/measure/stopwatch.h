// SPDX-License-Identifier: Apache-2.0
// Times one call, without what the libcuda below it spent in evicting caches (--cold).
#pragma once

#include <cstdint>

#include "bench/measure/ticks.h"

namespace cuvmm::bench {

class Stopwatch {
 public:
  Stopwatch() : evicted_(*evicted()), start_(ticks()) {}
  /// On ticks()'s clock.
  std::uint64_t elapsed() const {
    const std::uint64_t end = ticks();
    return end - start_ - (*evicted() - evicted_);
  }
  /// From here on: where libcuvmm-cold.so counts the time that it evicted. One thread calls.
  static void set_evicted(const std::uint64_t* counter) { counter_ = counter; }

 private:
  static const volatile std::uint64_t* evicted() { return counter_; }
  static constexpr std::uint64_t kNever = 0;
  static inline const std::uint64_t* counter_ = &kNever;

  std::uint64_t evicted_;
  std::uint64_t start_;
};

}  // namespace cuvmm::bench
