// SPDX-License-Identifier: Apache-2.0
// A recorder works in a child: a driver that dies or hangs ends the child, and the parent records
// the place and starts another child. Both recorders are watched in this way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "fuzz/record/recorder.h"

namespace cuvmm::fuzz {

using Clock = std::chrono::steady_clock;

/// Exit code of a child whose program lost its other process, which counts as the child's death.
inline constexpr int kPeerLost = 5;

/// Messages from the child to the parent, in memory that survives the child's death.
struct Progress {
  std::uint64_t program = 0;  ///< the program that runs, or the next one
  std::uint64_t op = 0;       ///< the op that runs
  std::uint64_t calls = 0, succeeded = 0, left_out = 0;
  bool finished = false;
  char error[256] = {};
};

struct Watched {
  Progress& progress;
  /// The child's work, until `end`: writes the recording into `file`, and ends with _exit.
  std::function<void(int file, Clock::time_point end)> work;
  /// The bytes to record of the program in which the child died, as far as they are known.
  std::function<std::string()> last_words;
};

/// Records into options.output until the time or the calls are used up.
RecordSummary record_watched(const RecordOptions& options, const Watched& watched);

/// Called in the child: ends the child and the recording.
[[noreturn]] void stop(Progress& progress, const std::string& error);
/// Called in the child: appends to the recording.
void put(Progress& progress, int file, const std::string& bytes);

/// Shares `size` zero bytes with later children; nullptr if there is no memory.
void* shared_with_children(std::size_t size);

}  // namespace cuvmm::fuzz
