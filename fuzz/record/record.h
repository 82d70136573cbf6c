// SPDX-License-Identifier: Apache-2.0
// Records a driver's answers to many generated programs in one process at a time.
#pragma once

#include "fuzz/record/recorder.h"
#include "fuzz/record/recording.h"
#include "fuzz/search/isolation.h"

namespace cuvmm::fuzz {

/// Programs are generated from the seed and their number. Calls whose broken rules make a driver
/// read freed or foreign memory are left out. A child runs them; when it dies or hangs, that is
/// recorded, and another one goes on with the next program. So it is when a second process is lost.
RecordSummary record(const RecordOptions& options);

struct Comparison {
  std::vector<Difference> differences;
  std::uint64_t calls = 0, unexplained = 0;
  std::uint64_t beyond = 0;  ///< calls not compared: the two machines may have differed by then
  std::uint64_t deaths = 0;  ///< of the recorded driver, in calls that the reference warns of
  std::string error;
  // Of a full recording: what an abridged one of it stores, if this driver is the emulator.
  std::vector<Abridged> abridged;
  std::vector<std::uint32_t> digests;
};
/// Programs per digest of an abridged recording.
inline constexpr unsigned kDigestGroup = 2;
/// Runs the recorded programs on another driver in this process, which is used up by that, and in
/// `peer` where they are those of two. The
/// rest of a program is not compared after a difference, nor after a call that changed something
/// outside what its names stand for (fuzz/ops/layout.h). `permitted` as in fuzz/record/recorder.h.
Comparison compare(const Recording& recording, const Driver& driver, const std::string& profile,
                   std::string_view permitted, std::unique_ptr<Peer> peer = nullptr);

}  // namespace cuvmm::fuzz
