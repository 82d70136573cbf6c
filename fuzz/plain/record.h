// SPDX-License-Identifier: Apache-2.0
// Records a driver's answers to programs about plain memory, and compares them with another
// driver's.
#pragma once

#include "fuzz/plain/machine.h"
#include "fuzz/plain/recording.h"
#include "fuzz/record/recorder.h"

namespace cuvmm::fuzz::plain {

/// Runs programs in a child. When the child dies or hangs, record() notes that, and a new child
/// goes on with the next program.
RecordSummary record(const RecordOptions& options);

struct Comparison {
  std::vector<Difference> differences;
  std::uint64_t calls = 0, unexplained = 0, beyond = 0;
  std::string error;
  // For a full recording and the emulator: the answers that an abridged recording must store.
  std::vector<Abridged> abridged;
  std::vector<std::uint32_t> digests;
};
/// Programs per digest of an abridged recording. A program that runs into answers which depend on
/// addresses takes its whole group out of the comparison; one or two programs of 3,800 do.
inline constexpr unsigned kDigestGroup = 8;
/// Runs the programs on another driver, in this process. `permitted` is described in
/// fuzz/record/recorder.h.
Comparison compare(const Recording& recording, const Functions& driver, std::string_view permitted);

}  // namespace cuvmm::fuzz::plain
