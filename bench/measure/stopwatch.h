// SPDX-License-Identifier: Apache-2.0
// Times one call, without the time that libcuvmm-cold.so spent on evicting caches (--cold).
#pragma once

#include <cstdint>

#include "bench/measure/ticks.h"

namespace cuvmm::bench {

class Stopwatch {
 public:
  Stopwatch() : evicted_(*evicted()), start_(ticks()) {}
  /// In ticks().
  std::uint64_t elapsed() const {
    const std::uint64_t end = ticks();
    return end - start_ - (*evicted() - evicted_);
  }
  /// `counter`: the counter in which libcuvmm-cold.so sums up its time. Only one thread may make
  /// calls.
  static void set_evicted(const std::uint64_t* counter) { counter_ = counter; }

 private:
  static const volatile std::uint64_t* evicted() { return counter_; }
  static constexpr std::uint64_t kNever = 0;
  static inline const std::uint64_t* counter_ = &kNever;

  std::uint64_t evicted_;
  std::uint64_t start_;
};

}  // namespace cuvmm::bench
