// SPDX-License-Identifier: Apache-2.0
// Reads the file in which a process kept what happened to its memory.
#pragma once

#include <string>
#include <vector>

#include "recorder/timeline/format.h"

namespace cuvmm::timeline {

struct Recorded {
  Header header{};
  Count count{};              ///< of all events, also of those that are not kept
  std::vector<Event> events;  ///< those that are kept, in order
  std::vector<Sample> samples;
};

/// Why it cannot be read, or "". Any bytes may stand in the file.
std::string read_file(const std::string& path, Recorded& out);

}  // namespace cuvmm::timeline
