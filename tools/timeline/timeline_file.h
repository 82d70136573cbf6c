// SPDX-License-Identifier: Apache-2.0
// Reads the file in which a process recorded the events of its memory (recorder/timeline/format.h).
#pragma once

#include <string>
#include <vector>

#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

struct ReadTimelines {
  std::vector<ProcessTimeline> processes;  ///< by start
  std::vector<std::string> notes;          ///< sentences about missing parts
};

/// Reads all files of `folder`. `most` limits the objects of all processes together.
ReadTimelines read_timelines(const std::string& folder, std::size_t most = kMostLives);

/// Pairs the begins and ends among the events of an image. `events` are the kept events, in order;
/// `count` has the sums over all events.
ProcessTimeline timeline_of(const timeline::Header& header, const timeline::Count& count,
                            const std::vector<timeline::Event>& events,
                            const std::vector<timeline::Sample>& samples);

}  // namespace cuvmm::tools
