// SPDX-License-Identifier: Apache-2.0
#include "tools/view/perfetto.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <vector>

#include "tools/report/text/finding_text.h"
#include "tools/timeline/moments.h"
#include "tools/timeline/object_findings.h"
#include "tools/timeline/timeline.h"
#include "tools/view/encode/perfetto_trace.h"

namespace cuvmm::tools {

namespace {

using O = timeline::Object;
constexpr std::uint64_t kNone = PerfettoTrace::kNone;
// Objects that live at one time get different tracks (lanes), because slices of one track must be
// nested.
constexpr std::size_t kMostLanes = 256;
// With more tracks the viewer is too slow.
constexpr std::size_t kMostReservationTracks = 256;

// The viewer sorts the tracks of a process by name, capital letters first, so this track is the
// first.
const char* const kFindings = "Findings";

std::string bytes_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string stack_lines(const Json& stack) {
  std::string text;
  for (const Json& frame : stack) text += (text.empty() ? "" : "\n") + frame_text(frame);
  return text;
}

/// The lanes of a group of objects. Each new object gets the first free lane.
class Lanes {
 public:
  Lanes(PerfettoTrace& trace, std::string name, std::uint64_t parent)
      : trace_(trace), name_(std::move(name)), parent_(parent) {}
  /// The track of an object's lane; kNone: too many objects live at that time.
  std::uint64_t place(std::int64_t begin, std::int64_t end) {
    while (!busy_.empty() && busy_.top().first <= begin) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    std::uint64_t lane = kNone;
    if (!free_.empty()) {
      lane = free_.top();
      free_.pop();
    } else if (made_ < kMostLanes) {
      ++made_;
      lane = trace_.track(name_, parent_);
    } else {
      return kNone;
    }
    busy_.push({end, lane});
    return lane;
  }

 private:
  using Busy = std::pair<std::int64_t, std::uint64_t>;
  PerfettoTrace& trace_;
  const std::string name_;
  const std::uint64_t parent_;
  std::size_t made_ = 0;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free_;
};

class ProcessTracks {
 public:
  ProcessTracks(PerfettoTrace& trace, const ProcessTimeline& timeline, const Json& findings)
      : trace_(trace),
        timeline_(timeline),
        findings_(findings),
        moments_(timeline),
        of_objects_(timeline, findings),
        process_(trace.process(timeline.program, timeline.pid)) {}

  void write() {
    marks();
    counters();
    reservations();
    lives();
  }

 private:
  std::uint64_t at(std::int64_t ns) const {
    return timeline_.start_ns + static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  }
  // Makes a number unique among all processes of the trace.
  std::uint64_t number(std::uint64_t of_process) const {
    return (static_cast<std::uint64_t>(timeline_.pid) << 32) + of_process;
  }
  const Json& stack(std::uint32_t id) const {
    return list_in(timeline_.stacks, std::to_string(id).c_str());
  }

  void marks() {
    std::uint64_t track = kNone;
    for (const Json& finding : findings_) {
      if (!is_of(finding, timeline_)) continue;
      if (track == kNone) track = trace_.track(kFindings, process_);
      PerfettoEvent event(PerfettoEvent::kInstant, track);
      event.name(text_in(finding, "kind") + ": " + text_in(finding, "rule"), "finding");
      event.annotate("message", text_in(finding, "message"));
      place(event, "at", list_in(finding, "stack"));
      event.annotate("NVTX ranges", ranges_text(finding));
      event.annotate("finding", finding_text(finding));
      for (const Life* const life : of_objects_.lives_of(finding)) {
        event.flow(number(of_objects_.of(*life)->number));
      }
      trace_.add(at(moments_.of_call(number_in(finding, "call_index"))), event);
    }
  }

  void counters() {
    counter("Bytes mapped", [](const TimelineSample& s) { return of(s, O::kMapping); });
    counter("Bytes of physical memory",
            [](const TimelineSample& s) { return timeline::physical(s.sums); });
    counter("Bytes reserved", [](const TimelineSample& s) { return of(s, O::kReservation); });
    counter("Bytes imported", [](const TimelineSample& s) {
      return of(s, O::kImport) + of(s, O::kIpc) + of(s, O::kExternal);
    });
  }
  static std::uint64_t of(const TimelineSample& sample, O kind) {
    return sample.sums.objects[static_cast<std::size_t>(kind)];
  }
  // Adds a counter, unless all its samples are 0.
  template <class Value>
  void counter(const char* name, Value value) {
    const auto& samples = timeline_.samples;
    if (std::all_of(samples.begin(), samples.end(), [&](const auto& s) { return value(s) == 0; }))
      return;
    const std::uint64_t track = trace_.bytes_counter(name, process_);
    for (const TimelineSample& sample : samples) {
      PerfettoEvent event(PerfettoEvent::kCounter, track);
      event.value(value(sample));
      trace_.add(at(sample.ns), event);
    }
  }

  // Makes a track for the address of each reservation, with lanes for its mappings below it. Makes
  // none if there are too many addresses.
  void reservations() {
    std::set<std::uint64_t> addresses;
    for (const Life& life : timeline_.lives) {
      if (life.kind == O::kReservation) addresses.insert(life.value);
    }
    if (addresses.size() > kMostReservationTracks) return;
    for (const std::uint64_t address : addresses) {
      const std::uint64_t track =
          trace_.track(fmt::format("reservation {:#014x}", address), process_);
      reservations_.try_emplace(address, Reservation{track, Lanes(trace_, "mappings", track)});
    }
  }

  // The lanes for an object without a track of its own: a mapping's are below its reservation, all
  // others have lanes by kind.
  Lanes& lanes_of(const Life& life) {
    if (life.kind == O::kMapping) {
      auto inside = reservations_.upper_bound(life.value);
      if (inside != reservations_.begin()) return std::prev(inside)->second.mappings;
    }
    const auto known = kinds_.find(life.kind);
    if (known != kinds_.end()) return known->second;
    return kinds_.try_emplace(life.kind, trace_, name(life.kind), process_).first->second;
  }

  void lives() {
    std::uint64_t left_out = 0;
    for (const Life& life : timeline_.lives) {
      const std::int64_t begin = std::max<std::int64_t>(life.begin_ns, 0);
      const std::int64_t end = life.alive() ? timeline_.end_ns : std::max(life.end_ns, begin);
      const auto own =
          life.kind == O::kReservation ? reservations_.find(life.value) : reservations_.end();
      const std::uint64_t track =
          own != reservations_.end() ? own->second.track : lanes_of(life).place(begin, end);
      if (track == kNone) {
        ++left_out;
        continue;
      }
      slice(life, track, begin, end);
    }
    if (left_out == 0) return;
    PerfettoEvent event(PerfettoEvent::kInstant, process_);
    event.name(fmt::format("{} objects have no track: more than {} live at a time in one place; "
                           "the counters have them",
                           left_out, kMostLanes),
               "memory");
    trace_.add(at(0), event);
  }

  // Adds the frame of site_of(), and that of python_site_of() if it is another one.
  void place(PerfettoEvent& event, const std::string& name, const Json& stack) {
    const Json* const site = site_of(stack);
    if (site == nullptr) return;
    trace_.annotate_shared(event, name.c_str(), frame_text(*site));
    const Json* const python = python_site_of(stack);
    if (python != nullptr && python != site)
      trace_.annotate_shared(event, (name + " (Python)").c_str(), frame_text(*python));
  }

  void slice(const Life& life, std::uint64_t track, std::int64_t begin, std::int64_t end) {
    PerfettoEvent event(PerfettoEvent::kBegin, track);
    event.name(fmt::format("{} {:#x}, {}", name(life.kind), life.value, bytes_text(life.size)),
               "memory");
    event.annotate("made by call", std::to_string(life.begin_call));
    if (life.begin_ns < 0) event.annotate("made", "before this, when is not known");
    place(event, "made at", stack(life.stack));
    event.annotate("ended by call", life.alive() ? "none: it lived when the process ended"
                                                 : std::to_string(life.end_call));
    place(event, "ended at", stack(life.end_stack));
    const Life* const memory = moments_.memory_of(life);
    const std::int32_t device = memory ? memory->device : life.device;
    if (device >= 0) event.annotate("device", std::to_string(device));
    if (life.handle != 0) event.annotate("handle", fmt::format("{:#x}", life.handle));
    if (is_use(life.kind)) event.annotate("offset", bytes_text(life.offset));
    // Memory and its mappings have one colour. All reservations have one colour.
    if (memory != nullptr)
      event.correlation(
          fmt::format("memory of call {} in process {}", memory->begin_call, timeline_.pid));
    if (life.kind == O::kReservation) event.correlation("reservations");
    annotate_with_findings(life, event);
    trace_.annotate_shared(event, "stack", stack_lines(stack(life.stack)));
    trace_.annotate_shared(event, "stack of the end", stack_lines(stack(life.end_stack)));
    trace_.add(at(begin), event);
    trace_.add(at(end), PerfettoEvent(PerfettoEvent::kEnd, track));
  }

  void annotate_with_findings(const Life& life, PerfettoEvent& event) const {
    const FindingsOfObject* const findings_of = of_objects_.of(life);
    if (findings_of == nullptr) return;
    event.flow(number(findings_of->number));
    if (findings_of->object == nullptr) return;
    event.annotate("name", text_in(*findings_of->object, "name"));
    event.annotate("NVTX ranges", ranges_text(*findings_of->object));
    event.annotate("NVTX regions", regions_text(*findings_of->object));
  }

  struct Reservation {
    std::uint64_t track;
    Lanes mappings;
  };
  PerfettoTrace& trace_;
  const ProcessTimeline& timeline_;
  const Json& findings_;
  const Moments moments_;
  const ObjectFindings of_objects_;
  const std::uint64_t process_;
  std::map<std::uint64_t, Reservation> reservations_;
  std::map<O, Lanes> kinds_;
};

}  // namespace

std::string perfetto_of(const Json& report) {
  const std::vector<ProcessTimeline> timelines = timelines_of(report);
  PerfettoTrace trace;
  for (const ProcessTimeline& timeline : timelines) {
    trace.clock(timeline.start_ns, timeline.unix_ns);
    ProcessTracks(trace, timeline, list_in(report, "findings")).write();
  }
  return std::move(trace).bytes();
}

}  // namespace cuvmm::tools
