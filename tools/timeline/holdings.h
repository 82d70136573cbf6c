// SPDX-License-Identifier: Apache-2.0
// Who held how much physical memory at a moment of a run.
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
  std::string site;  ///< the frame that a user knows
};

/// By stack, as its functions from the outermost on, joined by ';': the same in every run. "?"
/// where no stack is known.
using Holdings = std::map<std::string, Holding>;

struct MomentOfRun {
  bool peak = true;     ///< of each process, its own
  std::int64_t ns = 0;  ///< else: from the start of the first process's timeline
};

/// The moment in nanoseconds of `timeline`; `first` is the run's first one.
std::int64_t moment_in(const ProcessTimeline& timeline, const ProcessTimeline& first,
                       const MomentOfRun& moment);

/// Of all processes together.
Holdings holdings_at(const std::vector<ProcessTimeline>& processes, const MomentOfRun& moment);

/// Nanoseconds of "1.5", "1.5s", "200ms", "10us"; nothing where it is no time.
std::optional<std::int64_t> parse_moment(const std::string& text);

}  // namespace cuvmm::tools
