// SPDX-License-Identifier: Apache-2.0
// How both shrinkers drop parts of a program: ops, or lines of a text.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace cuvmm::fuzz {

/// When to stop: a program of two processes under the shim, run once for each failing call, takes a
/// second and more on a busy machine.
struct ShrinkLimits {
  unsigned tries = 2000;
  std::chrono::milliseconds time = std::chrono::minutes(1);
};

/// Counts the programs that were tried, until a limit.
class Tries {
 public:
  explicit Tries(ShrinkLimits limits) : most_(limits.tries), end_(Clock::now() + limits.time) {}
  /// Counts one more try; false at a limit.
  bool next() {
    if (made_ >= most_ || Clock::now() >= end_) return false;
    ++made_;
    return true;
  }
  unsigned made() const { return made_; }

 private:
  using Clock = std::chrono::steady_clock;
  const unsigned most_;
  const Clock::time_point end_;
  unsigned made_ = 0;
};

/// Drops runs of parts from the end on, because parts without a user are often the last ones: first
/// runs of half the program, then shorter ones. The first `head` parts stay. size() is the number
/// of parts now; drop(first, count) drops a run, and perhaps the parts that need it, where the rest
/// still shows the problem. Returns whether anything was dropped.
template <class Size, class Drop>
bool drop_runs(std::size_t head, Size size, Drop drop) {
  bool any = false;
  const std::size_t parts = std::max(size(), head) - head;
  for (std::size_t run = std::max<std::size_t>(parts / 2, 1); run >= 1; run /= 2) {
    for (std::size_t end = size(); end >= head + run;) {
      if (drop(end - run, run)) {
        any = true;
        end = std::min(end, size());
      } else {
        --end;
      }
    }
  }
  return any;
}

/// Drops two parts that can only go together, such as an unmap and the map that needs it.
/// drop(first, second) drops both, as above. Returns after the first success.
template <class Size, class Drop>
bool drop_pair(std::size_t head, Size size, Drop drop) {
  for (std::size_t second = size(); second-- > head + 1;) {
    for (std::size_t first = second; first-- > head;) {
      if (drop(first, second)) return true;
    }
  }
  return false;
}

}  // namespace cuvmm::fuzz
