// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/timeline_file.h"

#include <cuda.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "recorder/ticks.h"
#include "recorder/timeline/reader.h"

namespace cuvmm::tools {

namespace {

using TimelineEvent = timeline::Event;
using TimelineHeader = timeline::Header;
using TimelineObject = timeline::Object;
using TimelineWhat = timeline::What;

class TickClock {
 public:
  explicit TickClock(const TimelineHeader& header)
      : first_(header.file.first.ticks),
        rate_(first_, header.file.first.boot_ns, header.file.last.ticks, header.file.last.boot_ns) {
  }
  // At most 9e15, because many readers of JSON hold numbers as doubles.
  std::int64_t ns(std::uint64_t ticks) const {
    constexpr std::uint64_t kMost = 9'000'000'000'000'000;
    return ticks <= first_ ? 0
                           : static_cast<std::int64_t>(std::min(rate_.ns(ticks - first_), kMost));
  }

 private:
  std::uint64_t first_;
  recorder::TickRate rate_;
};

// The times of events in the order of the file. A call that began earlier than the call of the
// event before it gets the later time: the object that it made may have the address of the other
// call's object.
class RisingClock {
 public:
  explicit RisingClock(const TimelineHeader& header) : clock_(header) {}
  std::int64_t ns(std::uint64_t ticks) { return last_ = std::max(last_, clock_.ns(ticks)); }

 private:
  TickClock clock_;
  std::int64_t last_ = 0;
};

std::string location_text(std::uint64_t word) {
  const auto type = static_cast<std::uint32_t>(word);
  const auto id = static_cast<int>(word >> 32);
  switch (type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return "device" + std::to_string(id);
    case 2:  // HOST and HOST_NUMA, for which older headers have no names
      return "host";
    case 3:
      return "host_numa" + std::to_string(id);
    default:
      return fmt::format("location({}, {})", type, id);
  }
}

// Pairs the events of begins and ends.
class Pairing {
 public:
  Pairing(const TimelineHeader& header, ProcessTimeline& out) : clock_(header), out_(out) {}

  void take(const TimelineEvent& event) {
    const std::int64_t ns = clock_.ns(event.ticks);
    if (event.what == TimelineWhat::kBegin && event.by.call == out_.peak_call) out_.peak_ns = ns;
    out_.end_ns = std::max(out_.end_ns, ns);
    switch (event.what) {
      case TimelineWhat::kBegin:
        begin(event, ns);
        break;
      case TimelineWhat::kEnd:
      case TimelineWhat::kAlive:
        end(event, ns);
        break;
      case TimelineWhat::kAccess:
        out_.access.push_back({ns, event.by.call, event.by.thread, event.key, event.size,
                               location_text(event.more), event.other});
        break;
      case TimelineWhat::kShows:
        shows(event);
        break;
      case TimelineWhat::kUndone:
      case TimelineWhat::kCount:
        break;
    }
  }

 private:
  using Key = std::pair<TimelineObject, std::uint64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.second * 16 + static_cast<std::uint64_t>(key.first));
    }
  };

  // The key of a use: its kind, its key, the call that made it, and its number in that call.
  using UseKey = std::tuple<TimelineObject, std::uint64_t, std::uint64_t, std::uint64_t>;

  void begin(const TimelineEvent& event, std::int64_t ns) {
    Life life{.kind = event.object, .value = event.key, .size = event.size, .begin_ns = ns};
    life.begin_call = event.by.call;
    life.thread = event.by.thread;
    life.stack = event.by.stack;
    life.device = event.device;
    life.handle = event.other;
    life.offset = event.more;
    if (is_use(event.object)) [[unlikely]] {
      life.offset = timeline::use_word(event.more, 0);
      uses_[{event.object, event.key, event.by.call, timeline::use_number(event.more)}] =
          out_.lives.size();
      if (event.object == TimelineObject::kBinding) bound_.emplace(event.other, out_.lives.size());
    } else {
      open_[{event.object, event.key}] = out_.lives.size();
    }
    out_.lives.push_back(life);
  }

  void end(const TimelineEvent& event, std::int64_t ns) {
    if (is_use(event.object)) [[unlikely]]
      return end_use(event, ns);
    if (event.object == TimelineObject::kAllocation && event.what == TimelineWhat::kEnd) {
      end_bindings(event, ns);
    }
    const auto found = open_.find({event.object, event.key});
    const bool known = found != open_.end() && out_.lives[found->second].begin_call == event.other;
    if (!known) add_late(event);
    Life& life = known ? out_.lives[found->second] : out_.lives.back();
    if (known) open_.erase(found);
    if (event.what != TimelineWhat::kAlive) close(life, event, ns);
  }

  // Adds a life whose begin is not among the events.
  void add_late(const TimelineEvent& event) {
    Life life{.kind = event.object, .value = event.key, .size = event.size};
    life.begin_call = event.other;
    life.stack = static_cast<std::uint32_t>(event.more);
    life.device = event.device;
    out_.lives.push_back(life);
  }

  static void close(Life& life, const TimelineEvent& event, std::int64_t ns) {
    life.end_ns = ns;
    life.end_call = event.by.call;
    life.end_thread = event.by.thread;
    life.end_stack = event.by.stack;
  }

  void end_use(const TimelineEvent& event, std::int64_t ns) {
    const auto found =
        uses_.find({event.object, event.key, event.other, timeline::use_number(event.more)});
    if (found == uses_.end()) add_late(event);
    Life& life = found == uses_.end() ? out_.lives.back() : out_.lives[found->second];
    if (found != uses_.end()) uses_.erase(found);
    if (event.what != TimelineWhat::kAlive && life.alive()) close(life, event, ns);
  }

  // Completes the use before this event, whose begin is not among the events.
  void shows(const TimelineEvent& event) {
    if (out_.lives.empty()) return;
    Life& life = out_.lives.back();
    if (!is_use(life.kind) || life.value != event.key || life.handle != 0) return;
    life.handle = event.other;
    life.offset = timeline::use_word(event.more, 0);
  }

  // A binding ends with the last reference of its memory. Calls that free plain memory write only
  // the memory's end.
  void end_bindings(const TimelineEvent& event, std::int64_t ns) {
    if (bound_.empty()) return;
    const auto [from, to] = bound_.equal_range(event.key);
    for (auto at = from; at != to; ++at) {
      Life& life = out_.lives[at->second];
      if (life.alive()) close(life, event, ns);
    }
    bound_.erase(from, to);
  }

  RisingClock clock_;
  ProcessTimeline& out_;
  std::unordered_map<Key, std::size_t, Hash> open_;
  std::map<UseKey, std::size_t> uses_;
  std::multimap<std::uint64_t, std::size_t> bound_;  // indexes of bindings, by their memory
};

// Calls that the driver refused, such as unmaps: their events do not count.
std::unordered_set<std::uint64_t> undone_calls(const std::vector<TimelineEvent>& events) {
  std::unordered_set<std::uint64_t> calls;
  for (const TimelineEvent& event : events) {
    if (event.what == TimelineWhat::kUndone) calls.insert(event.by.call);
  }
  return calls;
}

// The sums after each of the first events, of which the process wrote no samples. The result has at
// most as many samples as the process would have written.
std::vector<TimelineSample> sums_of(const std::vector<TimelineEvent>& events,
                                    const std::unordered_set<std::uint64_t>& undone,
                                    RisingClock& clock) {
  const std::size_t count = std::min(events.size(), timeline::kFirstEvents);
  const std::size_t stride = (count + timeline::kSamples - 1) / timeline::kSamples;
  std::vector<TimelineSample> samples;
  timeline::Sums sums = {};
  std::uint64_t peak = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const TimelineEvent& event = events[i];
    const std::int64_t ns = clock.ns(event.ticks);
    if (!undone.contains(event.by.call)) {
      if (timeline::sum(sums, event)) peak = std::max(peak, timeline::physical(sums));
    }
    if ((i + 1) % stride != 0 && i + 1 != count) continue;
    samples.push_back({ns, event.by.call, peak, sums});
    peak = timeline::physical(sums);
  }
  return samples;
}

}  // namespace

ProcessTimeline timeline_of(const TimelineHeader& header, const timeline::Count& count,
                            const std::vector<TimelineEvent>& events,
                            const std::vector<timeline::Sample>& samples) {
  ProcessTimeline out;
  out.pid = static_cast<std::int64_t>(header.file.pid);
  out.program =
      std::string(header.file.program, strnlen(header.file.program, sizeof header.file.program));
  out.start_ns = header.file.first.boot_ns;
  out.unix_ns = header.file.first_unix_ns;
  out.events = count.events;
  out.dropped = count.events - std::min<std::uint64_t>(count.events, events.size());
  out.stopped = header.stopped != 0;
  out.peak = count.peak;
  out.peak_call = count.peak_call;
  const std::unordered_set<std::uint64_t> undone = undone_calls(events);
  const TickClock clock(header);
  out.peak_ns = clock.ns(count.peak_ticks);  // for a peak whose event is not kept
  Pairing pairing(header, out);
  for (const TimelineEvent& event : events) {
    if (event.object >= TimelineObject::kCount || event.what >= TimelineWhat::kCount) continue;
    if (undone.empty() || !undone.contains(event.by.call)) pairing.take(event);
  }
  out.end_ns = std::max(out.end_ns, clock.ns(header.file.last.ticks));
  if (out.dropped > 0 && events.size() > timeline::kFirstEvents) {
    out.dropped_from_ns = clock.ns(events[timeline::kFirstEvents - 1].ticks);
    out.dropped_until_ns = clock.ns(events[timeline::kFirstEvents].ticks);
  }
  RisingClock rising(header);
  out.samples = sums_of(events, undone, rising);
  for (const timeline::Sample& one : samples) {
    out.samples.push_back({rising.ns(one.ticks), one.call, one.peak, one.sums});
  }
  std::stable_sort(out.lives.begin(), out.lives.end(),
                   [](const Life& a, const Life& b) { return a.begin_ns < b.begin_ns; });
  return out;
}

namespace {

// Returns "", or why the file could not be read.
std::string read_timeline(const std::string& path, ProcessTimeline& out) {
  timeline::Recorded recorded;
  const std::string problem = timeline::read_file(path, recorded);
  if (problem.empty()) {
    out = timeline_of(recorded.header, recorded.count, recorded.events, recorded.samples);
  }
  return problem;
}

}  // namespace

ReadTimelines read_timelines(const std::string& folder, std::size_t most) {
  ReadTimelines result;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".timeline")) continue;
    ProcessTimeline one;
    const std::string problem = read_timeline(path, one);
    if (!problem.empty()) {
      result.notes.push_back("the timeline " + path + " was not read: " + problem);
    } else if (one.events > 0) {
      result.processes.push_back(std::move(one));
    }
  }
  std::sort(result.processes.begin(), result.processes.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  for (ProcessTimeline& one : result.processes) {
    coarsen(one, most / result.processes.size());
    const std::string process = "process " + std::to_string(one.pid);
    const std::size_t most_access = most / result.processes.size();
    if (one.access.size() > most_access) {
      result.notes.push_back(
          fmt::format("{}: the timeline leaves out the first {} of {} changes of access", process,
                      one.access.size() - most_access, one.access.size()));
      one.access.erase(one.access.begin(),
                       one.access.end() - static_cast<std::ptrdiff_t>(most_access));
    }
    if (one.dropped > 0) {
      result.notes.push_back(
          fmt::format("{}: of {} events about memory the first {} and the last {} were kept; the "
                      "sums over time "
                      "are of all",
                      process, one.events, timeline::kFirstEvents, timeline::kLastEvents));
    }
    if (one.left_out > 0) {
      result.notes.push_back(fmt::format(
          "{}: the timeline leaves out the {} objects that lived shortest", process, one.left_out));
    }
    if (one.stopped) {
      result.notes.push_back(process + ": the timeline ends early, because the disk was full");
    }
  }
  return result;
}

}  // namespace cuvmm::tools
