// SPDX-License-Identifier: Apache-2.0
// Reads the file in which a process kept what happened to its memory (recorder/timeline/format.h).
#pragma once

#include <string>
#include <vector>

#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

struct ReadTimelines {
  std::vector<ProcessTimeline> processes;  ///< by start
  std::vector<std::string> notes;          ///< what is missing from them, in sentences
};

/// All of `folder`. `most`: objects of all together.
ReadTimelines read_timelines(const std::string& folder, std::size_t most = kMostLives);

/// Pairs the events of an image. `events` are its kept ones, in order; `count` is of all.
ProcessTimeline timeline_of(const timeline::Header& header, const timeline::Count& count,
                            const std::vector<timeline::Event>& events,
                            const std::vector<timeline::Sample>& samples);

}  // namespace cuvmm::tools
