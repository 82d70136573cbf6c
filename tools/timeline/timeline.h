// SPDX-License-Identifier: Apache-2.0
// The events of the memory of a run's processes, with their times (docs/report.md, "timeline").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/timeline/format.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// One object from its begin to its end. Times are nanoseconds from the start of the process's
/// timeline.
struct Life {
  static constexpr std::int64_t kUnknown = -1;

  timeline::Object kind = timeline::Object::kReservation;
  std::uint64_t value = 0;  ///< address, handle or descriptor
  std::uint64_t size = 0;   ///< bytes; 0 unknown
  std::int64_t begin_ns = kUnknown;
  std::int64_t end_ns = kUnknown;  ///< kUnknown: it lived when the timeline ended
  std::uint64_t begin_call = 0;
  std::uint64_t end_call = 0;  ///< 0: it lived when the timeline ended
  std::uint32_t thread = 0;    ///< thread that made it; 0 unknown
  std::uint32_t end_thread = 0;
  std::uint32_t stack = 0;  ///< ids in ProcessTimeline::stacks
  std::uint32_t end_stack = 0;
  std::int32_t device = -1;  ///< device of the memory; -1 unknown
  std::uint64_t handle = 0;  ///< the memory of a mapping, an export or a use
  std::uint64_t offset = 0;  ///< of a mapping, in its memory; of a binding, in the multicast object

  bool alive() const { return end_call == 0; }
  bool lives_at(std::int64_t ns) const { return begin_ns <= ns && (alive() || end_ns > ns); }
};

struct AccessChange {
  std::int64_t ns = 0;
  std::uint64_t call = 0;
  std::uint32_t thread = 0;
  std::uint64_t address = 0, size = 0;
  std::string location;  ///< "device0", "host", ...
  std::uint64_t flags = 0;
};

struct TimelineSample {
  std::int64_t ns = 0;
  std::uint64_t call = 0;
  std::uint64_t peak = 0;  ///< most physical memory since the sample before
  timeline::Sums sums = {};
};

struct ProcessTimeline {
  std::int64_t pid = 0;
  std::string program;
  std::uint64_t start_ns = 0;  ///< on the machine's clock since boot
  std::uint64_t unix_ns = 0;   ///< the same moment since 1970
  std::int64_t end_ns = 0;     ///< from start_ns
  std::uint64_t events = 0;    ///< all events of the process
  std::uint64_t dropped = 0;   ///< those of `events` that the file did not keep
  std::int64_t dropped_from_ns = 0, dropped_until_ns = 0;
  std::uint64_t left_out = 0;  ///< short lives that were left out of `lives`
  bool stopped = false;        ///< the disk was full
  std::uint64_t peak = 0;      ///< most physical memory, in bytes
  std::int64_t peak_ns = 0;
  std::uint64_t peak_call = 0;
  std::vector<Life> lives;  ///< by begin
  std::vector<AccessChange> access;
  std::vector<TimelineSample> samples;
  Json stacks = Json::object();  ///< frames by stack id
};

/// "reservation", "allocation", "mapping", "import", ...
const char* name(timeline::Object kind);

/// The most objects that a report holds. Beyond that, the shortest lives are left out.
inline constexpr std::size_t kMostLives = 200'000;
/// Leaves out the shortest lives of `timeline` beyond `most`, and counts them.
void coarsen(ProcessTimeline& timeline, std::size_t most);

/// The value of "timeline" in a report.
Json timeline_json(const std::vector<ProcessTimeline>& processes);
/// Reads timeline_json(). Throws UsageError, which says what was expected. Empty where `report` has
/// no timeline.
std::vector<ProcessTimeline> timelines_of(const Json& report);

}  // namespace cuvmm::tools
