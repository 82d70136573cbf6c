// SPDX-License-Identifier: Apache-2.0
// What the last calls of a process that has ended tell of one of its threads: whether it was still
// at work with what it had made.
#pragma once

#include <cstdint>

#include "ring/reading.h"

namespace cuvmm::tools {

struct Death {
  std::uint64_t ns = 0;  ///< when the process ended, of CLOCK_MONOTONIC; 0: not known
  /// Number of the last call that changed something, as findings count.
  std::uint64_t last_number = 0;
};

/// How long a thread makes no call about memory before nobody thinks that it is between two. More
/// than it waits for a processor on a busy machine.
inline constexpr std::uint64_t kIdleNs = 500'000'000;

/// Whether the thread had given up what its call `number` was the last to touch: it made no call
/// about memory for kIdleNs, or many others since; or it went on to make other memory and to use
/// that. Never true of a thread that was in such a call, nor where `calls` does not tell.
bool gave_up(const ring::Reading& calls, const Death& death, std::uint32_t thread,
             std::uint64_t number);

}  // namespace cuvmm::tools
