// SPDX-License-Identifier: Apache-2.0
// A recorder's work happens in a child: a driver that dies or hangs takes that down, and the parent
// writes down where it was and starts another. Both recorders are watched so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "fuzz/record/recorder.h"

namespace cuvmm::fuzz {

using Clock = std::chrono::steady_clock;

/// A child's exit code: the other process of its programs died or hung, which counts as its own
/// death.
inline constexpr int kPeerLost = 5;

/// What the child tells the parent; it lies in memory that survives the child's death.
struct Progress {
  std::uint64_t program = 0;  ///< the one that runs, or the next
  std::uint64_t op = 0;       ///< the one that runs
  std::uint64_t calls = 0, succeeded = 0, left_out = 0;
  bool finished = false;
  char error[256] = {};
};

struct Watched {
  Progress& progress;
  /// The child's work, until `end`: writes what it records into `file`, and leaves by _exit.
  std::function<void(int file, Clock::time_point end)> work;
  /// The bytes to record of the program in which the child died, as far as it is known.
  std::function<std::string()> last_words;
};

/// Records into options.output until the time or the calls are used up.
RecordSummary record_watched(const RecordOptions& options, const Watched& watched);

/// In the child: ends it, and the recording with it.
[[noreturn]] void stop(Progress& progress, const std::string& error);
/// In the child: appends to the recording.
void put(Progress& progress, int file, const std::string& bytes);

/// Shares `size` bytes, zeros, with the children to come; nullptr if there is no memory.
void* shared_with_children(std::size_t size);

}  // namespace cuvmm::fuzz
