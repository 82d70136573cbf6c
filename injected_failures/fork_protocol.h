// SPDX-License-Identifier: Apache-2.0
// What `cuvmm fail --fork-server` and the program that it forks tell each other, over a socket that
// keeps messages apart. Both are of the same build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::injected_failures {

/// From the program.
struct ForkMessage {
  enum Kind : std::int32_t {
    kAtInit,   ///< it is at its cuInit; `value`: 1: it serves; else its threads, which forbid it
    kAtPoint,  ///< the same, at its cuvmm_fork_point()
    kStarted,  ///< a child was made; `value`: errno where not, and then `pid` is -1
    kEnded     ///< `value`: as of waitpid()
  };
  std::int32_t kind = kAtInit;
  std::int32_t pid = 0;
  std::int32_t value = 0;
};

/// To the program: a folder for what the child writes, a zero byte, and which calls fail.
inline constexpr std::size_t kMostForkRequest = 8192;

}  // namespace cuvmm::injected_failures
