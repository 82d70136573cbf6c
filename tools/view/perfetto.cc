// SPDX-License-Identifier: Apache-2.0
#include "tools/view/perfetto.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>

#include "tools/timeline/moments.h"
#include "tools/timeline/timeline.h"
#include "tools/view/encode/protobuf.h"
#include "tools/view/finding_text.h"

namespace cuvmm::tools {

namespace {

using O = live::TimelineObject;
constexpr std::uint64_t kNone = 0;
// Slices of one track must lie in one another, so what lives at a time lies on tracks side by side.
constexpr std::size_t kMostLanes = 256;

// Numbers of fields, from the project's own .proto files.
namespace packet {
constexpr unsigned kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                   kInterned = 12, kSequenceFlags = 13, kTimestampClock = 58, kTrackDescriptor = 60;
}
namespace track {
constexpr unsigned kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8;
}
namespace event {
constexpr unsigned kAnnotation = 4, kType = 9, kTrack = 11, kCategory = 22, kName = 23,
                   kCounterValue = 30, kFlow = 47;
enum Type { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
}  // namespace event
// Of the texts that later packets name by numbers.
constexpr std::uint64_t kStartsState = 1, kNeedsState = 2;
constexpr std::uint64_t kRealtime = 1, kBoottime = 6, kUnitBytes = 3;

std::string bytes_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

class Trace {
 public:
  void clock(std::uint64_t boot_ns, std::uint64_t unix_ns) {
    ProtobufMessage snapshot;
    for (const auto& [id, ns] : {std::pair{kBoottime, boot_ns}, std::pair{kRealtime, unix_ns}}) {
      ProtobufMessage one;
      one.number(1, id);
      one.number(2, ns);
      snapshot.message(1, one);
    }
    snapshot.number(2, kBoottime);
    ProtobufMessage packet;
    packet.number(packet::kSequence, 1);
    if (bytes_.empty()) packet.number(packet::kSequenceFlags, kStartsState);
    packet.message(packet::kClockSnapshot, snapshot);
    add(packet);
  }

  /// A new track; `pid` makes it the one of a process.
  std::uint64_t track(const std::string& name, std::uint64_t parent, std::int64_t pid = 0,
                      bool counter = false) {
    ProtobufMessage descriptor;
    descriptor.number(track::kUuid, ++tracks_);
    descriptor.text(track::kName, name);
    if (parent != kNone) descriptor.number(track::kParent, parent);
    if (pid != 0) {
      ProtobufMessage process;
      process.number(1, static_cast<std::uint64_t>(pid));
      process.text(6, name);
      descriptor.message(track::kProcess, process);
    }
    if (counter) {
      ProtobufMessage unit;
      unit.number(3, kUnitBytes);
      descriptor.message(track::kCounter, unit);
    }
    ProtobufMessage packet;
    packet.number(packet::kSequence, 1);
    packet.message(packet::kTrackDescriptor, descriptor);
    add(packet);
    return tracks_;
  }

  void event(std::uint64_t ns, const ProtobufMessage& event) {
    ProtobufMessage packet;
    packet.number(packet::kTimestamp, ns);
    packet.number(packet::kTimestampClock, kBoottime);
    packet.number(packet::kSequence, 1);
    packet.number(packet::kSequenceFlags, kNeedsState);
    if (!interned_.bytes().empty()) packet.message(packet::kInterned, interned_);
    interned_ = {};
    packet.message(packet::kTrackEvent, event);
    add(packet);
  }

  /// The number of a text that many events have. It is written with the next event.
  std::uint64_t text(const std::string& value) {
    const auto [known, fresh] = texts_.try_emplace(value, texts_.size() + 1);
    if (fresh) {
      ProtobufMessage one;
      one.number(1, known->second);
      one.text(2, value);
      interned_.message(29, one);
    }
    return known->second;
  }

  static ProtobufMessage started(event::Type type, std::uint64_t track, const std::string& name) {
    ProtobufMessage message;
    message.number(event::kType, type);
    message.number(event::kTrack, track);
    if (!name.empty()) {
      message.text(event::kName, name);
      message.text(event::kCategory, "memory");
    }
    return message;
  }
  static void annotate(ProtobufMessage& message, const char* name, const std::string& value) {
    if (value.empty()) return;
    ProtobufMessage annotation;
    annotation.text(10, name);
    annotation.text(6, value);
    message.message(event::kAnnotation, annotation);
  }

  void annotate_shared(ProtobufMessage& message, const char* name, const std::string& value) {
    if (value.empty()) return;
    ProtobufMessage annotation;
    annotation.text(10, name);
    annotation.number(17, text(value));
    message.message(event::kAnnotation, annotation);
  }

  std::string bytes() && { return std::move(bytes_); }

 private:
  void add(const ProtobufMessage& packet) {
    ProtobufMessage outer;
    outer.message(1, packet);
    bytes_ += outer.bytes();
  }
  std::string bytes_;
  std::uint64_t tracks_ = 0;
  std::unordered_map<std::string, std::uint64_t> texts_;
  ProtobufMessage interned_;
};

std::string stack_lines(const ProcessTimeline& timeline, std::uint32_t id) {
  const auto stack = timeline.stacks.find(std::to_string(id));
  if (stack == timeline.stacks.end() || !stack->is_array()) return "";
  std::string text;
  for (const Json& frame : *stack) text += (text.empty() ? "" : "\n") + frame_text(frame);
  return text;
}

/// Lanes of one group of objects: each new one gets the first lane that is free.
class Lanes {
 public:
  Lanes(Trace& trace, std::string name, std::uint64_t parent)
      : trace_(trace), name_(std::move(name)), parent_(parent) {}
  /// kNone: there are too many at that time.
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
  Trace& trace_;
  const std::string name_;
  const std::uint64_t parent_;
  std::size_t made_ = 0;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free_;
};

class ProcessTracks {
 public:
  ProcessTracks(Trace& trace, const ProcessTimeline& timeline)
      : trace_(trace), timeline_(timeline), moments_(timeline) {
    process_ =
        trace.track(fmt::format("{} {}", timeline.program, timeline.pid), kNone, timeline.pid);
  }

  void write(const Json& findings) {
    flows(findings);
    counters();
    lives();
    marks(findings);
  }

 private:
  std::uint64_t at(std::int64_t ns) const {
    return timeline_.start_ns + static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  }

  // Of each object of each finding, by its life: its flow, and what the finding knows of it.
  void flows(const Json& findings) {
    for (const Json& finding : findings) {
      if (!mine(finding)) continue;
      for (const Json& object : list_in(finding, "objects")) {
        const Life* const life = moments_.life_of(object);
        if (life && told_.try_emplace(life).second) {
          told_[life] = {(static_cast<std::uint64_t>(timeline_.pid) << 32) + told_.size(), &object};
        }
      }
    }
  }

  bool mine(const Json& finding) const {
    return number_in(finding, "pid") == static_cast<std::uint64_t>(timeline_.pid);
  }

  void counters() {
    counter("physical memory", [](const TimelineSample& s) { return live::physical(s.sums); });
    counter("mapped", [](const TimelineSample& s) { return of(s, O::kMapping); });
    counter("reserved", [](const TimelineSample& s) { return of(s, O::kReservation); });
    counter("imported", [](const TimelineSample& s) {
      return of(s, O::kImport) + of(s, O::kIpc) + of(s, O::kExternal);
    });
  }
  static std::uint64_t of(const TimelineSample& sample, O kind) {
    return sample.sums.objects[static_cast<std::size_t>(kind)];
  }
  template <class Value>
  void counter(const char* name, Value value) {
    const std::uint64_t track = trace_.track(name, process_, 0, true);
    for (const TimelineSample& sample : timeline_.samples) {
      ProtobufMessage event = Trace::started(event::kCounter, track, "");
      event.number(event::kCounterValue, value(sample));
      trace_.event(at(sample.ns), event);
    }
  }

  // Reservations have tracks of their own, with their mappings below them; the rest lies by kind.
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
      std::uint64_t track = kNone;
      if (life.kind == O::kReservation) {
        track = reservation(life);
      } else {
        track = lanes_of(life).place(begin, end);
      }
      if (track == kNone) {
        ++left_out;
        continue;
      }
      slice(life, track, begin, end);
    }
    if (left_out == 0) return;
    trace_.event(at(0), Trace::started(event::kInstant, process_,
                                       fmt::format("{} objects have no track: more than {} live at "
                                                   "a time in one place; the counters have them",
                                                   left_out, kMostLanes)));
  }

  std::uint64_t reservation(const Life& life) {
    const auto known = reservations_.find(life.value);
    if (known != reservations_.end()) return known->second.track;
    const std::string name = fmt::format("{:#x} reservation", life.value);
    const std::uint64_t track = trace_.track(name, process_);
    reservations_.try_emplace(life.value, Reservation{track, Lanes(trace_, "mappings", track)});
    return track;
  }

  void slice(const Life& life, std::uint64_t track, std::int64_t begin, std::int64_t end) {
    ProtobufMessage event = Trace::started(
        event::kBegin, track,
        fmt::format("{} {:#x}, {}", name(life.kind), life.value, bytes_text(life.size)));
    Trace::annotate(event, "made by call", std::to_string(life.begin_call));
    if (life.alive()) {
      Trace::annotate(event, "ended by", "nothing: it lived when the process ended");
    } else {
      Trace::annotate(event, "ended by call", std::to_string(life.end_call));
    }
    if (life.begin_ns < 0) Trace::annotate(event, "made", "before this, when is not known");
    if (life.device >= 0) Trace::annotate(event, "device", std::to_string(life.device));
    if (life.handle != 0) Trace::annotate(event, "handle", fmt::format("{:#x}", life.handle));
    if (is_use(life.kind)) Trace::annotate(event, "offset", bytes_text(life.offset));
    trace_.annotate_shared(event, "stack", stack_lines(timeline_, life.stack));
    trace_.annotate_shared(event, "stack of the end", stack_lines(timeline_, life.end_stack));
    if (const auto told = told_.find(&life); told != told_.end()) {
      event.fixed64(event::kFlow, told->second.flow);
      Trace::annotate(event, "name", text_in(*told->second.object, "name"));
      Trace::annotate(event, "NVTX ranges", ranges_text(*told->second.object));
      Trace::annotate(event, "NVTX regions", regions_text(*told->second.object));
    }
    trace_.event(at(begin), event);
    trace_.event(at(end), Trace::started(event::kEnd, track, ""));
  }

  void marks(const Json& findings) {
    std::uint64_t track = kNone;
    for (const Json& finding : findings) {
      if (!mine(finding)) continue;
      if (track == kNone) track = trace_.track("findings", process_);
      ProtobufMessage event = Trace::started(
          event::kInstant, track, text_in(finding, "kind") + ": " + text_in(finding, "rule"));
      Trace::annotate(event, "message", text_in(finding, "message"));
      Trace::annotate(event, "NVTX ranges", ranges_text(finding));
      Trace::annotate(event, "finding", finding_text(finding));
      for (const Json& object : list_in(finding, "objects")) {
        const auto told = told_.find(moments_.life_of(object));
        if (told != told_.end()) event.fixed64(event::kFlow, told->second.flow);
      }
      trace_.event(at(moments_.of_call(number_in(finding, "call_index"))), event);
    }
  }

  struct Reservation {
    std::uint64_t track;
    Lanes mappings;
  };
  Trace& trace_;
  const ProcessTimeline& timeline_;
  const Moments moments_;
  std::uint64_t process_ = kNone;
  std::map<std::uint64_t, Reservation> reservations_;
  std::map<O, Lanes> kinds_;
  struct Told {
    std::uint64_t flow = 0;
    const Json* object = nullptr;
  };
  std::unordered_map<const Life*, Told> told_;
};

}  // namespace

std::string perfetto_of(const Json& report) {
  const std::vector<ProcessTimeline> timelines = timelines_of(report);
  Trace trace;
  for (const ProcessTimeline& timeline : timelines) {
    trace.clock(timeline.start_ns, timeline.unix_ns);
    ProcessTracks(trace, timeline).write(list_in(report, "findings"));
  }
  return std::move(trace).bytes();
}

}  // namespace cuvmm::tools
