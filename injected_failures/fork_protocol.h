// SPDX-License-Identifier: Apache-2.0
// The messages between `cuvmm fail --fork-server` and the program that it forks, over a socket that
// keeps message boundaries. Both come from one build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::injected_failures {

/// A message from the program.
struct ForkMessage {
  enum Kind : std::int32_t {
    /// The program is at its cuInit; `value` 1: it can fork; else the number of its threads, which
    /// prevent that.
    kAtInit,
    kAtPoint,  ///< the same at its cuvmm_fork_point()
    kStarted,  ///< a child was forked; if not, `value` is the errno and `pid` is -1
    kEnded     ///< a child has ended; `value` is the status of waitpid()
  };
  std::int32_t kind = kAtInit;
  std::int32_t pid = 0;
  std::int32_t value = 0;
};

/// The most bytes of a message to the program: a folder for the child's files, a zero byte, and the
/// text of the calls that are to fail.
inline constexpr std::size_t kMostForkRequest = 8192;

}  // namespace cuvmm::injected_failures
