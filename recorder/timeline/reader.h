// SPDX-License-Identifier: Apache-2.0
// Reads the file in which a process recorded the events of its memory.
#pragma once

#include <string>
#include <vector>

#include "recorder/timeline/format.h"

namespace cuvmm::timeline {

struct Recorded {
  Header header{};
  Count count{};              ///< sums over all events, kept or not
  std::vector<Event> events;  ///< the events that the file keeps, in order
  std::vector<Sample> samples;
};

/// Returns why the file cannot be read, or "". The file may hold any bytes.
std::string read_file(const std::string& path, Recorded& out);

}  // namespace cuvmm::timeline
