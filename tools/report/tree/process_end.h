// SPDX-License-Identifier: Apache-2.0
// Facts about the end of a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// The present time of CLOCK_MONOTONIC, in nanoseconds.
std::uint64_t monotonic_ns();

/// A look at the first thread of a process.
struct ThreadLook {
  std::uint64_t ns = 0;         ///< time of the look, of CLOCK_MONOTONIC
  std::uint64_t waited_ns = 0;  ///< how long the thread had waited for a processor until then
};

struct ProcessEnd {
  std::uint64_t ns = 0;  ///< the process ended at or after this time of CLOCK_MONOTONIC; 0: unknown
  std::uint64_t latest_ns = 0;  ///< and at or before this time; 0: unknown
  /// The looks of its last seconds; the last look was taken after the end. Empty if nobody looked,
  /// or if the kernel does not count.
  std::vector<ThreadLook> looks = {};
  /// Last look at which it was stopped (SIGSTOP, a debugger); 0: none.
  std::uint64_t stopped_ns = 0;
  bool became_another = false;  ///< the process went on as another program, through exec
};

/// Looks at one thread repeatedly while it runs. The kernel adds a wait to the thread's sum only
/// when the thread gets a processor, so the sum is exact only for a thread that sleeps or has
/// ended.
class ThreadLooks {
 public:
  /// `folder`: the thread's folder in /proc. `ns`: a moment before this call at which it lived.
  /// `asleep`: it sleeps.
  void look(const std::string& folder, std::uint64_t ns, bool asleep = false);
  /// Drops the looks after the last one at which the thread slept, because their sums are not
  /// exact.
  void forget_unsure();
  std::vector<ThreadLook> take();

 private:
  static constexpr std::size_t kMost = 32;
  std::vector<ThreadLook> looks_;
  std::size_t sure_ = 0;
};

}  // namespace cuvmm::tools
