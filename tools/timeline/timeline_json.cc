// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include "tools/command_line/usage.h"
#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

namespace {

using timeline::Sums;
constexpr std::size_t kKinds = static_cast<std::size_t>(timeline::Object::kCount);
constexpr std::size_t kSums = static_cast<std::size_t>(timeline::Object::kSummed);

Json life_columns() {
  return {"kind",   "value",      "size",  "begin_ns",  "end_ns", "begin_call", "end_call",
          "thread", "end_thread", "stack", "end_stack", "device", "handle",     "offset"};
}
Json access_columns() { return {"ns", "call", "thread", "address", "size", "location", "flags"}; }
Json kind_names(std::size_t count = kKinds) {
  Json names = Json::array();
  for (std::size_t i = 0; i < count; ++i) names.push_back(name(static_cast<timeline::Object>(i)));
  return names;
}

Json row_of(const Life& l) {
  return Json::array({static_cast<unsigned>(l.kind), l.value, l.size, l.begin_ns, l.end_ns,
                      l.begin_call, l.end_call, l.thread, l.end_thread, l.stack, l.end_stack,
                      l.device, l.handle, l.offset});
}

Json process_json(const ProcessTimeline& p) {
  Json lives = Json::array(), access = Json::array(), samples = Json::array();
  for (const Life& life : p.lives) lives.push_back(row_of(life));
  for (const AccessChange& a : p.access) {
    access.push_back(Json::array({a.ns, a.call, a.thread, a.address, a.size, a.location, a.flags}));
  }
  for (const TimelineSample& s : p.samples) {
    Json row = Json::array({s.ns, s.call, s.peak});
    for (const std::uint64_t bytes : s.sums.objects) row.push_back(bytes);
    samples.push_back(std::move(row));
  }
  Json one = {{"pid", p.pid},          {"program", p.program}, {"start_ns", p.start_ns},
              {"unix_ns", p.unix_ns},  {"end_ns", p.end_ns},   {"events", p.events},
              {"left_out", p.left_out}};
  if (p.dropped > 0) {
    one["dropped"] = {
        {"events", p.dropped}, {"from_ns", p.dropped_from_ns}, {"until_ns", p.dropped_until_ns}};
  }
  if (p.stopped) one["stopped"] = true;
  one["peak"] = {{"bytes", p.peak}, {"ns", p.peak_ns}, {"call", p.peak_call}};
  one["objects"] = std::move(lives);
  one["access"] = std::move(access);
  one["samples"] = std::move(samples);
  one["stacks"] = p.stacks;
  return one;
}

[[noreturn]] void refuse_timeline(const std::string& what, const std::string& expected) {
  throw UsageError{"\"timeline\": " + what + ": expected " + expected};
}

/// Reads one row of numbers and strings from left to right.
class TimelineRow {
 public:
  TimelineRow(const Json& row, std::size_t columns, const char* what) : row_(row), what_(what) {
    if (!row.is_array() || row.size() != columns)
      refuse_timeline(what_, "rows of " + std::to_string(columns) + " values");
  }
  template <class Number>
  Number number() {
    const Json& value = row_[at_++];
    if (!value.is_number_integer()) refuse_timeline(what_, "whole numbers");
    if (value.is_number_unsigned()) {
      const auto plain = value.get<std::uint64_t>();
      if (plain > static_cast<std::uint64_t>(std::numeric_limits<Number>::max()))
        refuse_timeline(what_, "smaller numbers");
      return static_cast<Number>(plain);
    }
    const auto plain = value.get<std::int64_t>();
    if (std::is_unsigned_v<Number> || plain < -1) refuse_timeline(what_, "no negative numbers");
    return static_cast<Number>(plain);
  }
  std::string text() {
    const Json& value = row_[at_++];
    if (!value.is_string()) refuse_timeline(what_, "a string");
    return value.get<std::string>();
  }

 private:
  const Json& row_;
  const char* what_;
  std::size_t at_ = 0;
};

const Json& list_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) refuse_timeline(key, "a list");
  return *found;
}

std::uint64_t count_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  const bool whole = found != object.end() && found->is_number_integer();
  if (!whole || (!found->is_number_unsigned() && found->get<std::int64_t>() < 0))
    refuse_timeline(key, "a count");
  return found->get<std::uint64_t>();
}
std::int64_t time_in(const Json& object, const char* key) {
  const std::uint64_t value = count_of(object, key);
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    refuse_timeline(key, "a number of nanoseconds");
  return static_cast<std::int64_t>(value);
}

Life life_of(const Json& json) {
  TimelineRow row(json, 14, "objects");
  Life l;
  const auto kind = row.number<std::uint32_t>();
  if (kind >= kKinds) refuse_timeline("objects", "a kind below " + std::to_string(kKinds));
  l.kind = static_cast<timeline::Object>(kind);
  l.value = row.number<std::uint64_t>();
  l.size = row.number<std::uint64_t>();
  l.begin_ns = row.number<std::int64_t>();
  l.end_ns = row.number<std::int64_t>();
  l.begin_call = row.number<std::uint64_t>();
  l.end_call = row.number<std::uint64_t>();
  l.thread = row.number<std::uint32_t>();
  l.end_thread = row.number<std::uint32_t>();
  l.stack = row.number<std::uint32_t>();
  l.end_stack = row.number<std::uint32_t>();
  l.device = row.number<std::int32_t>();
  l.handle = row.number<std::uint64_t>();
  l.offset = row.number<std::uint64_t>();
  return l;
}

AccessChange access_change_of(const Json& json) {
  TimelineRow row(json, 7, "access");
  AccessChange a;
  a.ns = row.number<std::int64_t>();
  a.call = row.number<std::uint64_t>();
  a.thread = row.number<std::uint32_t>();
  a.address = row.number<std::uint64_t>();
  a.size = row.number<std::uint64_t>();
  a.location = row.text();
  a.flags = row.number<std::uint64_t>();
  return a;
}

TimelineSample sample_of(const Json& json) {
  // A report of an older cuvmm has fewer kinds.
  const bool older = json.is_array() && json.size() > 3 && json.size() < 3 + kSums;
  const std::size_t kinds = older ? json.size() - 3 : kSums;
  TimelineRow row(json, 3 + kinds, "samples");
  TimelineSample s;
  s.ns = row.number<std::int64_t>();
  s.call = row.number<std::uint64_t>();
  s.peak = row.number<std::uint64_t>();
  for (std::size_t i = 0; i < kinds; ++i) s.sums.objects[i] = row.number<std::uint64_t>();
  return s;
}

ProcessTimeline process_of(const Json& json) {
  if (!json.is_object()) refuse_timeline("processes", "objects");
  ProcessTimeline p;
  p.pid = time_in(json, "pid");
  const auto program = json.find("program");
  if (program != json.end() && program->is_string()) p.program = program->get<std::string>();
  p.start_ns = count_of(json, "start_ns");
  p.unix_ns = count_of(json, "unix_ns");
  p.end_ns = time_in(json, "end_ns");
  p.events = count_of(json, "events");
  p.left_out = count_of(json, "left_out");
  if (const auto dropped = json.find("dropped"); dropped != json.end()) {
    p.dropped = count_of(*dropped, "events");
    p.dropped_from_ns = time_in(*dropped, "from_ns");
    p.dropped_until_ns = time_in(*dropped, "until_ns");
  }
  p.stopped = json.contains("stopped");
  const auto peak = json.find("peak");
  if (peak == json.end()) refuse_timeline("peak", "an object");
  p.peak = count_of(*peak, "bytes");
  p.peak_ns = time_in(*peak, "ns");
  p.peak_call = count_of(*peak, "call");
  for (const Json& row : list_of(json, "objects")) p.lives.push_back(life_of(row));
  for (const Json& row : list_of(json, "access")) p.access.push_back(access_change_of(row));
  for (const Json& row : list_of(json, "samples")) p.samples.push_back(sample_of(row));
  const auto stacks = json.find("stacks");
  if (stacks != json.end() && stacks->is_object()) p.stacks = *stacks;
  return p;
}

}  // namespace

Json timeline_json(const std::vector<ProcessTimeline>& processes) {
  Json sample_columns = {"ns", "call", "peak"};
  for (const Json& kind : kind_names(kSums)) sample_columns.push_back(kind);
  Json list = Json::array();
  for (const ProcessTimeline& one : processes) list.push_back(process_json(one));
  return {{"clock", "boottime"},
          {"kinds", kind_names()},
          {"columns",
           {{"objects", life_columns()},
            {"access", access_columns()},
            {"samples", std::move(sample_columns)}}},
          {"processes", std::move(list)}};
}

std::vector<ProcessTimeline> timelines_of(const Json& report) {
  std::vector<ProcessTimeline> result;
  const auto timeline = report.find("timeline");
  if (timeline == report.end()) return result;
  if (!timeline->is_object()) refuse_timeline("it", "an object");
  for (const Json& one : list_of(*timeline, "processes")) result.push_back(process_of(one));
  return result;
}

}  // namespace cuvmm::tools
