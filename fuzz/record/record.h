// SPDX-License-Identifier: Apache-2.0
// Records a driver's answers to many generated programs, in one child process at a time.
#pragma once

#include "fuzz/record/recorder.h"
#include "fuzz/record/recording.h"
#include "fuzz/search/isolation.h"

namespace cuvmm::fuzz {

/// Generates programs from the seed and their number, and runs them in a child. Leaves out calls
/// whose broken rules make a driver read freed or foreign memory. When the child dies or hangs, or
/// a second process is lost, record() notes that, and a new child goes on with the next program.
RecordSummary record(const RecordOptions& options);

/// The judgement of differences.
struct Judging {
  std::string permitted;  ///< described in fuzz/record/recorder.h
  /// A program is compared only up to its first difference that is not permitted. An abridged
  /// recording that is made with it has no such difference.
  bool cut = false;
};

struct Comparison {
  std::vector<Difference> differences;
  std::uint64_t calls = 0, unexplained = 0;
  std::uint64_t beyond =
      0;  ///< calls not compared, because the two machines may have differed by then
  std::uint64_t deaths =
      0;                   ///< deaths of the recorded driver in calls of which the reference warns
  std::uint64_t cuts = 0;  ///< programs that Judging::cut cut off
  std::string error;
  // For a full recording and the emulator: the answers that an abridged recording must store.
  std::vector<Abridged> abridged;
  std::vector<std::uint32_t> digests;
};
/// Programs per digest of an abridged recording. A larger group makes a smaller file, and a
/// comparison in which several calls of a group differ then names more programs.
inline constexpr unsigned kDigestGroup = 32;
/// Runs the recorded programs on another driver in this process, and in `peer` for programs of two
/// processes. The process cannot use the driver afterwards. The rest of a program is not compared
/// after a difference, nor after a call that changed an object outside of its names
/// (fuzz/ops/layout.h).
Comparison compare(const Recording& recording, const Driver& driver, const std::string& profile,
                   const Judging& judging, std::unique_ptr<Peer> peer = nullptr);

}  // namespace cuvmm::fuzz
