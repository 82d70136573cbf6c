// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/last_state.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include "api/posix/process_start.h"
#include "api/words.h"
#include "live/frames/interleave.h"
#include "live/frames/runtime_frames.h"
#include "live/reader.h"
#include "ring/reading.h"
#include "rulebook/check.h"
#include "tools/crash/crash_symbols.h"
#include "tools/live/live_leaks.h"
#include "tools/run/ended/thread_past.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostInFlight = 4;  // that are named
constexpr const char* kOtherCalls = "earlier calls";

std::uint64_t own_start() { return process_start("self"); }

// Numbers beyond those of any process would do no harm: they find no file.
std::int64_t pid_of_ring(const std::filesystem::path& file) {
  return std::atoll(file.filename().c_str());
}

// The newest of each process: one that became another program by exec may have left several.
std::map<std::int64_t, std::string> rings_in(const std::string& folder) {
  std::map<std::int64_t, std::string> rings;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".ring") continue;
    std::string& newest = rings[pid_of_ring(at->path())];
    newest = std::max(newest, at->path().string());
  }
  return rings;
}

// Descriptors of a process that is gone cannot be looked at, and a close may not have been seen.
bool closed(const Export&) { return false; }

// The last call that touched what a violation is of, and its thread.
Origin last_touch(const Model& model, const ObjectRef& object) {
  Origin last = object.made;
  if (object.kind != ObjectRef::Kind::kAllocation) return last;
  if (const Allocation* const a = model.allocation(object.value)) {
    for (const Origin& at : {a->retained, a->released, a->unmapped}) {
      if (at.call > last.call) last = at;
    }
  }
  return last;
}

Json frames_json(const std::vector<live::Frame>& frames) {
  Json list = Json::array();
  for (const live::Frame& frame : frames) {
    Json one = {{"function", frame.function}, {"module", frame.module}, {"offset", frame.offset}};
    if (!frame.file.empty()) {
      one["file"] = frame.file;
      one["line"] = static_cast<std::uint64_t>(std::max(frame.line, 0));
    }
    if (frame.python()) one["language"] = "python";
    list.push_back(std::move(one));
  }
  return list;
}

// One process's last state.
class Judge {
 public:
  Judge(ProcessReport& report, const live::View& view, const ring::Reading& calls,
        const live::Suppressions& suppressions, const ProcessEnd& end)
      : report_(report), view_(view), calls_(calls), suppressions_(suppressions) {
    death_ = {end, view.calls(), static_cast<std::uint32_t>(report.pid)};
  }

  void run() {
    const live::Snapshot held = view_.snapshot();
    const Model model = model_of(held);
    const std::optional<std::set<std::uint64_t>> asked = undecided();
    std::vector<const Violation*> in_flight;
    const Violations all = check_exit(model, &closed, {});
    if (!report_.value.contains("in_use")) {
      if (Json held_still = in_use_json(held, model); !held_still.empty())
        report_.value["in_use"] = std::move(held_still);
      report_.value["in_use_listed"] = true;  // nobody can list more of it
    }
    for (const Violation& leak : all) {
      if (leak.objects.empty()) continue;
      const ObjectRef& object = leak.objects.front();
      if (asked && !asked->contains(object.made.call)) continue;
      const Origin last = last_touch(model, object);
      if (gave_up(calls_, death_, last.thread, last.call)) {
        add(leak);
      } else {
        in_flight.push_back(&leak);
      }
    }
    tell_in_flight(in_flight);
    // One that was just written is in flight by that.
    report_.leaks = ProcessReport::Leaks::kJudged;
    if (held.cut || held.sums.missed != 0) {
      report_.leaks = ProcessReport::Leaks::kUnknown;
      report_.why_unknown =
          held.cut ? "the file that shows what it held was cut"
                   : fmt::format("{} objects found no room in the file that shows what it held",
                                 held.sums.missed);
    }
  }

 private:
  // The process itself has judged all but these; nothing: it has judged none.
  std::optional<std::set<std::uint64_t>> undecided() const {
    const auto numbers = report_.value.find("undecided");
    if (!report_.value.value("leaks_judged", false)) return std::nullopt;
    std::set<std::uint64_t> all;
    if (numbers != report_.value.end()) {
      for (const Json& number : *numbers) all.insert(number.get<std::uint64_t>());
    }
    return all;
  }

  std::vector<live::Frame> frames(std::uint32_t stack) const {
    return live::with_python_frames(crash_frames(calls_.maps, view_.stack(stack)),
                                    view_.python(stack));
  }

  void add(const Violation& leak) {
    const RuleInfo& rule = info(leak.rule);
    std::vector<live::Frame> stack = frames(leak.objects.front().made.stack);
    const std::uint64_t count = std::max<std::uint64_t>(leak.count, 1);
    if (suppressions_.matches(rule.id, stack)) {
      report_.value["suppressed"] = report_.value.value("suppressed", std::uint64_t{0}) + count;
      return;
    }
    live::take_runtime_frames(stack);
    Json objects = Json::array();
    for (const ObjectRef& object : leak.objects) {
      std::vector<live::Frame> maker = frames(object.made.stack);
      live::take_runtime_frames(maker);
      Json one = {{"what", name(object.kind)},
                  {"value", hex_text(object.value)},
                  {"made_by_call", object.made.call},
                  {"stack", frames_json(maker)}};
      if (object.size != 0) one["size"] = object.size;
      objects.push_back(std::move(one));
    }
    Json finding = {{"rule", rule.id},
                    {"kind", name(rule.kind)},
                    {"call", rule.entry == EntryPoint::kCount ? "" : name(rule.entry)},
                    {"arguments", Json::object()},
                    {"message", leak.message},
                    {"documented", Json::array()},
                    {"result", ""},
                    {"call_index", 0u},
                    {"pid", report_.pid},
                    {"stack", frames_json(stack)},
                    {"objects", std::move(objects)},
                    {"fix", rule.fix},
                    {"url", rule_url(rule.rule)},
                    {"count", count}};
    // As the process folds them: one finding for each place that made such memory.
    for (Json& other : report_.judged) {
      if (other["rule"] == finding["rule"] && other["stack"] == finding["stack"]) {
        other["count"] = other["count"].get<std::uint64_t>() + count;
        return;
      }
    }
    report_.judged.push_back(std::move(finding));
  }

  void tell_in_flight(const std::vector<const Violation*>& leaks) {
    if (leaks.empty()) return;
    std::string text = fmt::format(
        "a thread was at work with {} when the process ended, so {} in flight, not leaked:",
        leaks.size() == 1 ? "an object" : fmt::format("{} objects", leaks.size()),
        leaks.size() == 1 ? "it was" : "these were");
    for (std::size_t i = 0; i < leaks.size() && i < kMostInFlight; ++i) {
      const ObjectRef& object = leaks[i]->objects.front();
      text += fmt::format("{} {} {}", i == 0 ? "" : ",", name(object.kind), hex_text(object.value));
      if (object.size != 0) text += " (" + size_text(object.size) + ")";
      text += fmt::format(" made by call {}", object.made.call);
      const std::vector<live::Frame> stack = frames(object.made.stack);
      if (!stack.empty()) text += " at " + frame_line(0, stack.front()).substr(3);
    }
    if (leaks.size() > kMostInFlight)
      text += fmt::format(" and {} more", leaks.size() - kMostInFlight);
    report_.in_flight.push_back(std::move(text));
  }

  ProcessReport& report_;
  const live::View& view_;
  const ring::Reading& calls_;
  const live::Suppressions& suppressions_;
  Death death_;
};

// A process counts its calls for its last report. The file of its last calls knows how many there
// were, and names the last ones.
void count_calls(Json& report, const ring::Reading& calls) {
  Json counts = Json::object();
  std::uint64_t named = 0;
  for (const ring::CallSeen& call : calls.calls) {
    const ring::EntrySeen* const entry = calls.entry(call);
    if (!entry) continue;
    Json& count = counts[entry->name];
    count = (count.is_null() ? std::uint64_t{0} : count.get<std::uint64_t>()) + 1;
    ++named;
  }
  if (calls.total_calls > named) counts[kOtherCalls] = calls.total_calls - named;
  report["calls"] = std::move(counts);
}

bool made_call(const ring::Reading& calls, std::initializer_list<std::string_view> names) {
  return std::any_of(calls.calls.begin(), calls.calls.end(), [&](const ring::CallSeen& call) {
    const ring::EntrySeen* const entry = calls.entry(call);
    return entry && std::find(names.begin(), names.end(), entry->name) != names.end();
  });
}

// Whether the process may have something that it could leak.
bool made_something(const ring::Reading& calls) {
  return calls.total_calls > calls.calls.size() ||
         made_call(calls, {"cuMemCreate", "cuMemAddressReserve", "cuMemImportFromShareableHandle",
                           "cuMemRetainAllocationHandle", "cuMemPoolDestroy"});
}

// Of a process that shows nothing.
std::string why_nothing(const ProcessReport& report, const LastStates& states) {
  if (states.live_folder.empty()) return "it showed nothing of what it held (--live off)";
  if (process_start(std::to_string(report.pid).c_str()) != 0) return "it still runs";
  return "what it held was not to be seen in " + states.live_folder;
}

bool is_open_question(const ProcessReport& report) {
  return report.error.empty() &&
         (!report.value.value("leaks_judged", true) || report.value.contains("undecided"));
}

}  // namespace

std::string this_run() { return fmt::format("{}-{}", ::getpid(), own_start()); }

void judge_last_states(std::vector<ProcessReport>& reports, const LastStates& states,
                       const TreeResult& tree) {
  const ring::ClockPair now = ring::this_clock_pair();
  const std::vector<live::View> views =
      live::open_left(states.live_folder, static_cast<std::uint64_t>(::getpid()), own_start());
  // Nobody else does it while this command lives.
  for (const live::View& view : views) ::unlink(view.path().c_str());
  // And of those that died with their command.
  std::vector<std::string> problems;
  if (!states.live_folder.empty()) (void)live::open_all(states.live_folder, problems);
  if (std::none_of(reports.begin(), reports.end(), is_open_question)) return;
  const std::map<std::int64_t, std::string> rings = rings_in(states.ring_folder);
  for (ProcessReport& report : reports) {
    if (!is_open_question(report)) continue;
    report.leaks = ProcessReport::Leaks::kUnknown;
    ring::Reading calls;
    const auto ring = rings.find(report.pid);
    const bool known = ring != rings.end() && ring::read_file(ring->second, calls, &now).empty() &&
                       calls.pid == report.pid;
    if (known && report.value.value("ended", "") == "running") count_calls(report.value, calls);
    const bool seen = report.pid == tree.pid && tree.signal == 0;
    report.exited = seen || (known && calls.state == ring::State::kExited);
    const auto view = std::find_if(views.begin(), views.end(),
                                   [&](const live::View& one) { return one.pid() == report.pid; });
    if (!known) {
      report.why_unknown = "its last calls are not kept";
    } else if (view == views.end()) {
      if (made_something(calls)) {
        report.why_unknown = why_nothing(report, states);
      } else {
        report.leaks = ProcessReport::Leaks::kJudged;
      }
    } else if (made_call(calls, {"cuMemMapArrayAsync"})) {
      report.why_unknown = "what it mapped into sparse arrays is not shown";
    } else {
      const auto died = tree.ended.find(static_cast<pid_t>(report.pid));
      Judge(report, *view, calls, states.suppressions,
            died == tree.ended.end() ? ProcessEnd{} : died->second)
          .run();
    }
  }
}

}  // namespace cuvmm::tools
