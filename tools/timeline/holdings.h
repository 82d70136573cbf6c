// SPDX-License-Identifier: Apache-2.0
// Computes how much physical memory each place in the program held at a moment of a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

struct Holding {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::string site;  ///< the innermost frame of the user's own code
};

/// By stack: the functions from the outermost on, joined by ';', so that two runs have equal keys.
/// "?" where the stack is unknown.
using Holdings = std::map<std::string, Holding>;

struct MomentOfRun {
  bool peak = true;  ///< the peak of each process
  std::int64_t ns =
      0;  ///< where `peak` is false: nanoseconds from the start of the first process's timeline
};

/// The moment in nanoseconds of `timeline`; `first` is the run's first timeline.
std::int64_t moment_in(const ProcessTimeline& timeline, const ProcessTimeline& first,
                       const MomentOfRun& moment);

/// The holdings of all processes together.
Holdings holdings_at(const std::vector<ProcessTimeline>& processes, const MomentOfRun& moment);

/// The nanoseconds of "1.5", "1.5s", "200ms" or "10us"; nothing where the text is no time.
std::optional<std::int64_t> parse_moment(const std::string& text);

}  // namespace cuvmm::tools
