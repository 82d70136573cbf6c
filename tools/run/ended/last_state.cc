// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/last_state.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include "api/posix/process_start.h"
#include "api/words.h"
#include "frames/interleave.h"
#include "frames/runtime_frames.h"
#include "frames/source_line.h"
#include "recorder/holdings/reader.h"
#include "recorder/last_calls/reading.h"
#include "rulebook/check/check.h"
#include "tools/crash/crash_symbols.h"
#include "tools/live/live_leaks.h"
#include "tools/report/text/forked_children.h"
#include "tools/run/ended/in_use_list.h"
#include "tools/run/ended/thread_past.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostInFlight = 4;  // objects named in the report
constexpr const char* kOtherCalls = "earlier calls";

std::uint64_t own_start() { return process_start("self"); }

std::string image_of(const holdings::View& view) {
  return std::filesystem::path(view.path()).stem().string();
}

// The descriptors of an ended process cannot be checked, and the shim may have missed a close.
bool closed(const Export&) { return false; }

// The last call that touched the object of a violation, with its thread.
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

// The program began no earlier, and its source files may have changed since.
const std::int64_t g_command_began = ::time(nullptr);

Json frames_json(const std::vector<frames::Frame>& frames) {
  Json list = Json::array();
  for (const frames::Frame& frame : frames) {
    Json one = {{"function", frame.function}, {"module", frame.module}, {"offset", frame.offset}};
    if (!frame.file.empty()) {
      one["file"] = frame.file;
      one["line"] = static_cast<std::uint64_t>(std::max(frame.line, 0));
    }
    if (frame.python()) one["language"] = "python";
    if (!frame.source.empty()) one["source"] = frame.source;
    list.push_back(std::move(one));
  }
  return list;
}

// Judges the last state of one process.
class Judge {
 public:
  Judge(ProcessReport& report, const holdings::View& view, const last_calls::Reading& calls,
        const LastStates& states, const Death& death)
      : report_(report), view_(view), calls_(calls), states_(states), death_(death) {
    death_.last_number = view.calls();
  }

  void run() {
    const holdings::Snapshot held = view_.snapshot();
    const Model model = model_of(held);
    const std::optional<std::set<std::uint64_t>> asked = undecided();
    std::vector<const Violation*> in_flight, unsure;
    std::size_t unknown = 0;
    const Violations all = check_exit(model, &closed, {});
    if (!report_.value.contains("in_use")) tell_in_use(objects_in_use(held, model));
    for (const Violation& leak : all) {
      if (leak.objects.empty()) continue;
      const ObjectRef& object = leak.objects.front();
      if (asked && !asked->contains(object.made.call)) continue;
      const Origin last = last_touch(model, object);
      const LastWork work = last_work(calls_, death_, last.thread, last.call, object.value);
      if (work == LastWork::kGaveUp) add(leak);
      if (work == LastWork::kAtWork) in_flight.push_back(&leak);
      if (work == LastWork::kUnsure) unsure.push_back(&leak);
      unknown += work == LastWork::kUnknown;
    }
    tell_in_flight(in_flight);
    tell_unsure(unsure);
    // An object whose slot was being written is in flight.
    report_.leaks = ProcessReport::Leaks::kJudged;
    if (held.cut || held.sums.missed != 0) {
      report_.leaks = ProcessReport::Leaks::kUnknown;
      report_.why_unknown =
          held.cut
              ? "the file with its objects was cut"
              : fmt::format("the file with its objects had no place for {} more", held.sums.missed);
    } else if (unknown != 0) {
      report_.leaks = ProcessReport::Leaks::kUnknown;
      report_.why_unknown =
          fmt::format("nobody saw when it ended{}, so a thread may still have been at work with {}",
                      view_.of_here() ? "" : " (it ran in a pid namespace of its own)",
                      unknown == 1 ? "an object" : fmt::format("{} objects", unknown));
    }
  }

 private:
  // The objects that the process left to this command to judge; nothing: the process judged none.
  std::optional<std::set<std::uint64_t>> undecided() const {
    const auto numbers = report_.value.find("undecided");
    if (!report_.value.value("leaks_judged", false)) return std::nullopt;
    std::set<std::uint64_t> all;
    if (numbers != report_.value.end()) {
      for (const Json& number : *numbers) all.insert(number.get<std::uint64_t>());
    }
    return all;
  }

  std::vector<frames::Frame> frames(std::uint32_t stack) const {
    return frames::with_python_frames(crash_frames(calls_.maps, view_.stack(stack)),
                                      view_.python(stack));
  }

  // The function that made an object, as the program called it; "": not known. Takes the runtime's
  // frames out of the stack.
  std::string take_function(std::vector<frames::Frame>& stack, std::uint32_t id) const {
    // Python calls many functions from one place, and the file has the name of the first alone.
    const bool python = std::ranges::any_of(stack, &frames::Frame::python);
    const std::string runtime = frames::take_runtime_frames(stack);
    return !runtime.empty() || python ? runtime : std::string(view_.function(id));
  }

  void add(const Violation& leak) {
    const RuleInfo& rule = info(leak.rule);
    std::vector<frames::Frame> stack = frames(leak.objects.front().made.stack);
    const std::uint64_t count = std::max<std::uint64_t>(leak.count, 1);
    if (states_.suppressions.matches(rule.id, stack)) {
      report_.value["suppressed"] = report_.value.value("suppressed", std::uint64_t{0}) + count;
      return;
    }
    frames::take_runtime_frames(stack);
    frames::add_source_line(stack, g_command_began);
    Json objects = Json::array();
    for (const ObjectRef& object : leak.objects) {
      std::vector<frames::Frame> maker = frames(object.made.stack);
      const std::string function = take_function(maker, object.made.stack);
      frames::add_source_line(maker, g_command_began);
      Json one = {{"what", name(object.kind)},
                  {"value", hex_text(object.value)},
                  {"made_by_call", object.made.call},
                  {"stack", frames_json(maker)}};
      if (object.size != 0) one["size"] = object.size;
      if (!function.empty()) one["made_by"] = function;
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
    // The process folds findings in the same way: one finding for each place that made such memory.
    for (Json& other : report_.judged) {
      if (other["rule"] == finding["rule"] && other["stack"] == finding["stack"]) {
        other["count"] = other["count"].get<std::uint64_t>() + count;
        return;
      }
    }
    report_.judged.push_back(std::move(finding));
  }

  // Named one by one: " allocation 0x.. (2 MiB) made by call 11 at fill() at cache.cc:41".
  std::string named(const std::vector<const Violation*>& leaks) const {
    std::string text;
    for (std::size_t i = 0; i < leaks.size() && i < kMostInFlight; ++i) {
      const ObjectRef& object = leaks[i]->objects.front();
      text += fmt::format("{} {} {}", i == 0 ? "" : ",", name(object.kind), hex_text(object.value));
      if (object.size != 0) text += " (" + size_text(object.size) + ")";
      text += fmt::format(" made by call {}", object.made.call);
      const std::vector<frames::Frame> stack = frames(object.made.stack);
      if (!stack.empty()) text += " at " + frame_line(0, stack.front()).substr(3);
    }
    if (leaks.size() > kMostInFlight)
      text += fmt::format(" and {} more", leaks.size() - kMostInFlight);
    return text;
  }

  void tell_in_flight(const std::vector<const Violation*>& leaks) {
    if (leaks.empty()) return;
    const bool one = leaks.size() == 1;
    report_.in_flight.push_back(
        fmt::format("a thread was at work with {} when the process ended, so {} in flight, not "
                    "leaked:{}",
                    one ? "an object" : fmt::format("{} objects", leaks.size()),
                    one ? "it was" : "these were", named(leaks)));
  }

  void tell_unsure(const std::vector<const Violation*>& leaks) {
    if (leaks.empty()) return;
    const bool one = leaks.size() == 1;
    report_.perhaps_leaked = leaks.size();
    report_.in_flight.push_back(fmt::format(
        "whether {} leaked is not known, because the process was ended a moment after its last "
        "call about memory, in no call, and may have been about to use {}:{}",
        one ? "this object is" : fmt::format("these {} objects are", leaks.size()),
        one ? "it" : "them", named(leaks)));
  }

  void tell_in_use(const std::vector<Used>& used) {
    if (Json sums = in_use_json(used); !sums.empty()) report_.value["in_use"] = std::move(sums);
    if (!states_.lists_in_use) return;
    report_.value["in_use_listed"] = true;
    const auto place_of = [this](std::uint32_t stack) {
      PlaceOf place{frames(stack)};
      place.function = take_function(place.frames, stack);
      return place;
    };
    report_.in_use_list =
        in_use_list(used, place_of) +
        fmt::format(
            "cuvmm: still in use: the streams, events, contexts, arrays, modules, graphs "
            "and descriptors of process {} are not known, because the file that outlived "
            "it shows only memory\n",
            report_.pid);
  }

  ProcessReport& report_;
  const holdings::View& view_;
  const last_calls::Reading& calls_;
  const LastStates& states_;
  Death death_;
};

// A process counts its calls only for its last report. The file of its last calls has the number of
// all calls, and the names of the last ones.
void count_calls(Json& report, const last_calls::Reading& calls) {
  Json counts = Json::object();
  std::uint64_t named = 0;
  for (const last_calls::CallSeen& call : calls.calls) {
    const last_calls::EntrySeen* const entry = calls.entry(call);
    if (!entry) continue;
    Json& count = counts[entry->name];
    count = (count.is_null() ? std::uint64_t{0} : count.get<std::uint64_t>()) + 1;
    ++named;
  }
  if (calls.total_calls > named) counts[kOtherCalls] = calls.total_calls - named;
  report["calls"] = std::move(counts);
}

bool made_call(const last_calls::Reading& calls, std::initializer_list<std::string_view> names) {
  return std::any_of(calls.calls.begin(), calls.calls.end(), [&](const last_calls::CallSeen& call) {
    const last_calls::EntrySeen* const entry = calls.entry(call);
    return entry && std::find(names.begin(), names.end(), entry->name) != names.end();
  });
}

// Whether the process may have made an object that it could leak.
bool made_something(const last_calls::Reading& calls) {
  return calls.total_calls > calls.calls.size() ||
         made_call(calls, {"cuMemCreate", "cuMemAddressReserve", "cuMemImportFromShareableHandle",
                           "cuMemRetainAllocationHandle", "cuMemPoolDestroy"});
}

// Says why a process shows no objects.
std::string why_nothing(const ProcessReport& report, const LastStates& states) {
  if (states.live_folder.empty()) return "it did not list its objects (--live off)";
  if (process_start(std::to_string(report.pid).c_str()) != 0) return "it still runs";
  return "what it held was not to be seen in " + states.live_folder;
}

bool is_open_question(const ProcessReport& report) {
  return report.error.empty() &&
         (!report.value.value("leaks_judged", true) || report.value.contains("undecided"));
}

// Whether the process ended without its last report.
bool is_cut(const ProcessReport& report) {
  return report.error.empty() && report.value.value("ended", "") == "running" &&
         !is_refused_child(report.value);
}

// A suppression that matched a judged leak is not unused.
void leave_unused(std::vector<ProcessReport>& reports, const frames::Suppressions& suppressions) {
  const std::vector<std::string> list = suppressions.unused();
  const std::set<std::string> unused(list.begin(), list.end());
  for (ProcessReport& report : reports) {
    if (!report.error.empty() || !report.value.contains("unused_suppressions")) continue;
    Json left = Json::array();
    for (const Json& text : report.value["unused_suppressions"]) {
      if (unused.contains(text.get<std::string>())) left.push_back(text);
    }
    report.value["unused_suppressions"] = std::move(left);
  }
}

// All files that the processes of a run left.
class LeftBehind {
 public:
  LeftBehind(const LastStates& states, const TreeResult& tree, const EndWatch& watch)
      : states_(states), tree_(tree), watch_(watch), now_(last_calls::this_clock_pair()) {
    views_ = holdings::open_left(states.live_folder, static_cast<std::uint64_t>(::getpid()),
                                 own_start(), !tree.left_running);
    // This command must remove them, because others leave them alone while it lives.
    for (const holdings::View& view : views_) ::unlink(view.path().c_str());
  }

  void count_its_calls(ProcessReport& report) const {
    last_calls::Reading calls;
    report.calls_known = read_calls(report, calls);
    if (report.calls_known) count_calls(report.value, calls);
  }

  void judge(ProcessReport& report) const {
    report.leaks = ProcessReport::Leaks::kUnknown;
    last_calls::Reading calls;
    const bool known = read_calls(report, calls), cut = is_cut(report);
    if (known && cut) count_calls(report.value, calls);
    const auto view = std::find_if(views_.begin(), views_.end(), [&](const holdings::View& one) {
      return image_of(one) == report.image;
    });
    Death death{.end = end_of(report), .first_thread = static_cast<std::uint32_t>(report.pid)};
    report.became_another =
        cut && (death.end.became_another || (view != views_.end() && has_later_image(*view)));
    const bool seen = report.pid == tree_.pid && tree_.signal == 0;
    report.exited =
        seen || report.became_another || (known && calls.state == last_calls::State::kExited);
    death.by_itself = cut && report.exited;
    death.cut = cut || report.value.value("ended", "") == "signal";
    death.own_thread =
        static_cast<std::uint32_t>(report.value.value("ended_by_thread", std::uint64_t{0}));
    if (!known) {
      report.why_unknown = "its last calls are not kept";
    } else if (view == views_.end()) {
      if (made_something(calls)) {
        report.why_unknown = why_nothing(report, states_);
      } else {
        report.leaks = ProcessReport::Leaks::kJudged;
      }
    } else if (made_call(calls, {"cuMemMapArrayAsync"})) {
      report.why_unknown = "what it mapped into sparse arrays is not shown";
    } else {
      Judge(report, *view, calls, states_, death).run();
    }
  }

 private:
  bool read_calls(const ProcessReport& report, last_calls::Reading& calls) const {
    const std::string file = states_.last_calls_folder + "/" + report.image + ".ring";
    return last_calls::read_file(file, calls, &now_).empty() && calls.pid == report.pid;
  }
  ProcessEnd end_of(const ProcessReport& report) const {
    const std::optional<ProcessEnd> seen = watch_.end_of(report.image);
    if (report.pid != tree_.pid || (seen && seen->became_another))
      return seen.value_or(ProcessEnd{});
    ProcessEnd end = tree_.end;
    if (seen) end.stopped_ns = seen->stopped_ns;
    return end;
  }
  bool has_later_image(const holdings::View& view) const {
    return std::any_of(views_.begin(), views_.end(), [&](const holdings::View& other) {
      return other.pid() == view.pid() && other.start() == view.start() &&
             other.path() > view.path();
    });
  }

  const LastStates& states_;
  const TreeResult& tree_;
  const EndWatch& watch_;
  const last_calls::ClockPair now_;
  std::vector<holdings::View> views_;
};

}  // namespace

std::string this_run() { return fmt::format("{}-{}", ::getpid(), own_start()); }

void judge_last_states(std::vector<ProcessReport>& reports, const LastStates& states,
                       const TreeResult& tree, const EndWatch& watch) {
  const LeftBehind left(states, tree, watch);
  // Also removes the files of processes whose command has died.
  std::vector<std::string> problems;
  if (!states.live_folder.empty()) (void)holdings::open_all(states.live_folder, problems);
  for (ProcessReport& report : reports) {
    if (is_open_question(report)) {
      left.judge(report);
    } else if (is_cut(report)) {
      left.count_its_calls(report);
    }
  }
  leave_unused(reports, states.suppressions);
}

}  // namespace cuvmm::tools
