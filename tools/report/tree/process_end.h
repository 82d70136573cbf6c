// SPDX-License-Identifier: Apache-2.0
// What is known of the end of a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// Now, of CLOCK_MONOTONIC.
std::uint64_t monotonic_ns();

/// A look at the first thread of a process.
struct ThreadLook {
  std::uint64_t ns = 0;         ///< when, of CLOCK_MONOTONIC
  std::uint64_t waited_ns = 0;  ///< how long it had waited for a processor until then
};

struct ProcessEnd {
  std::uint64_t ns = 0;         ///< not before this, of CLOCK_MONOTONIC; 0: nobody knows
  std::uint64_t latest_ns = 0;  ///< nor after this; 0: nobody knows
  /// Of the last seconds, the last one when it had ended; none where nobody looked, or the kernel
  /// does not tell.
  std::vector<ThreadLook> looks = {};
  std::uint64_t stopped_ns = 0;  ///< when it was last seen stopped (SIGSTOP, a debugger); 0: never
  bool became_another = false;   ///< by exec: it went on as another program
};

/// Looks at one thread, again and again while it runs. How long it waits is counted when it has got
/// a processor: it is known of one that sleeps, and of one that has ended.
class ThreadLooks {
 public:
  /// `folder`: of the thread in /proc. `ns`: a moment before this call when it lived.
  void look(const std::string& folder, std::uint64_t ns, bool asleep = false);
  /// Leaves out what came after it was last seen asleep.
  void forget_unsure();
  std::vector<ThreadLook> take();

 private:
  static constexpr std::size_t kMost = 32;
  std::vector<ThreadLook> looks_;
  std::size_t sure_ = 0;
};

}  // namespace cuvmm::tools
