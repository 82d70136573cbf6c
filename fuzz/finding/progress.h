// SPDX-License-Identifier: Apache-2.0
// The progress of a search, for fuzz/run.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace cuvmm::fuzz {

class Progress {
 public:
  explicit Progress(std::chrono::milliseconds pause = std::chrono::seconds(1)) : pause_(pause) {}
  /// Prints the figures so far to standard error, at most once in `pause`.
  void tell(std::uint64_t programs, std::uint64_t calls) {
    const Clock::time_point now = Clock::now();
    if (now - told_ < pause_) return;
    told_ = now;
    std::fprintf(stderr, "cuvmm: %llu programs, %llu calls\n",
                 static_cast<unsigned long long>(programs), static_cast<unsigned long long>(calls));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::chrono::milliseconds pause_;
  Clock::time_point told_ = Clock::now();
};

}  // namespace cuvmm::fuzz
