// SPDX-License-Identifier: Apache-2.0
// Samples of one measured time, and their quantiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/measure/ticks.h"

namespace cuvmm::bench {

/// Stores ticks, and returns nanoseconds. Memory for kMost samples is reserved at the start, so
/// that adding a sample is one store.
class Samples {
 public:
  static constexpr std::size_t kMost = 1 << 17;

  Samples() { ticks_.reserve(kMost); }
  void add(std::uint64_t ticks) {
    if (ticks_.size() < kMost) ticks_.push_back(static_cast<std::uint32_t>(ticks));
  }
  std::size_t size() const { return ticks_.size(); }
  /// The value that `share` (0..1) of the samples do not exceed, in nanoseconds, less `overhead`.
  double quantile(double share, double overhead) const {
    if (ticks_.empty()) return 0;
    std::vector<std::uint32_t> sorted = ticks_;
    const auto at = sorted.begin() +
                    static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), at, sorted.end());
    return std::max(0.0, static_cast<double>(*at) * nanoseconds_per_tick() - overhead);
  }

 private:
  std::vector<std::uint32_t> ticks_;
};

/// The cost of two ticks() in a row, in nanoseconds.
inline double clock_overhead() {
  static const double measured = [] {
    Samples samples;
    for (int i = 0; i < 10000; ++i) {
      const std::uint64_t start = ticks();
      samples.add(ticks() - start);
    }
    return samples.quantile(0.5, 0);
  }();
  return measured;
}

}  // namespace cuvmm::bench
