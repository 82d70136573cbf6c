// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_merge.h"

#include <string.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "api/posix/lost_mark.h"
#include "recorder/holdings/in_use_text.h"
#include "tools/report/ipc_order.h"
#include "tools/report/text/forked_children.h"

namespace cuvmm::tools {

namespace {

using Counts = std::map<std::string, std::uint64_t>;

void add_counts(Counts& to, const Json& report, const char* key) {
  const auto counts = report.find(key);
  if (counts == report.end()) return;
  for (const auto& [name, count] : counts->items()) {
    std::uint64_t& sum = to[name];
    sum = saturating_sum(sum, count.get<std::uint64_t>());
  }
}

// A list without repetitions. Adding to a long list stays fast, because a set knows the members.
class Union {
 public:
  void add(const Json& list) {
    for (const Json& item : list) {
      if (seen_.insert(item.dump(-1, ' ', false, Json::error_handler_t::replace)).second) {
        list_.push_back(item);
      }
    }
  }
  const Json& list() const { return list_; }

 private:
  Json list_ = Json::array();
  std::set<std::string> seen_;
};

bool has_driver(const Json& report) {
  const auto driver = report.find("driver");
  return driver != report.end() && driver->is_object() &&
         !driver->at("path").get_ref<const std::string&>().empty();
}

void count(Totals& totals, const Json& finding) {
  const std::string kind = finding["kind"];
  if (kind == "answer") return;  // no mistake
  std::uint64_t& total = kind == "error"       ? totals.errors
                         : kind == "undefined" ? totals.undefined
                         : kind == "leak"      ? totals.leaks
                                               : totals.advice;
  const std::uint64_t handled = finding.value("handled", std::uint64_t{0});
  const std::uint64_t all = finding["count"].get<std::uint64_t>();
  total = saturating_sum(total, all - std::min(handled, all));
}

// Adds to each leak the leaks of other processes that hold the same memory, because the memory is
// freed only when all of them let go.
void relate(Json& findings) {
  constexpr std::size_t kMostNamed = 16;  // in one finding; more names would not help
  std::map<std::string, std::vector<Json*>> by_memory;
  for (Json& finding : findings) {
    const auto memory = finding.find("memory");
    if (memory != finding.end()) by_memory[memory->get<std::string>()].push_back(&finding);
  }
  for (auto& [memory, keepers] : by_memory) {
    std::vector<Json> related;
    for (const Json* keeper : keepers) {
      Json one = {{"pid", (*keeper)["pid"]}, {"rule", (*keeper)["rule"]}};
      const std::size_t enough = kMostNamed + 1;  // one of them may be of the finding's own process
      if (related.size() < enough &&
          std::find(related.begin(), related.end(), one) == related.end())
        related.push_back(std::move(one));
    }
    for (Json* keeper : keepers) {
      for (const Json& other : related) {
        if (other["pid"] != (*keeper)["pid"]) (*keeper)["related"].push_back(other);
      }
    }
  }
}

constexpr const char* kContract[] = {"schema",
                                     "pid",
                                     "ended",
                                     "driver",
                                     "calls",
                                     "unchecked",
                                     "findings",
                                     "summary",
                                     "suppressed",
                                     "alive",
                                     "processes",
                                     "notes",
                                     "ipc",
                                     "fault",
                                     "faults",
                                     "work",
                                     "refusals",
                                     "stacks",
                                     "expected",
                                     "unused_suppressions",
                                     "undecided",
                                     "ended_by_thread",
                                     "leaks_judged",
                                     "blame",
                                     "in_use",
                                     "ended_with_context",
                                     "in_use_listed",
                                     "unawaited_use",
                                     "perhaps_unawaited_use",
                                     "unchecked_calls"};

// Sums up the memory that processes had not given back, by kind.
class Sums {
 public:
  void add(const Json& report, const char* key) {
    const auto list = report.find(key);
    if (list == report.end()) return;
    for (const Json& one : *list) {
      Sum& sum = all_[one["what"].get<std::string>()];
      sum.count = saturating_sum(sum.count, one["count"].get<std::uint64_t>());
      sum.bytes = saturating_sum(sum.bytes, one["bytes"].get<std::uint64_t>());
      if (!one.contains("made_at") || !one.contains("made_there")) continue;
      auto& there = sum.places[one["made_at"].get<std::string>()];
      there = saturating_sum(there, one["made_there"].get<std::uint64_t>());
    }
  }
  /// The sums, largest number of bytes first.
  Json list() const {
    std::vector<std::pair<std::string, Sum>> sums(all_.begin(), all_.end());
    std::ranges::stable_sort(
        sums, [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    Json list = Json::array();
    for (const auto& [what, sum] : sums) {
      list.push_back({{"what", what}, {"count", sum.count}, {"bytes", sum.bytes}});
      const auto most =
          std::ranges::max_element(sum.places, {}, [](const auto& place) { return place.second; });
      if (most == sum.places.end() || !holdings::grows(what, most->second, sum.count)) continue;
      list.back()["made_at"] = most->first;
      list.back()["made_there"] = most->second;
    }
    return list;
  }

 private:
  struct Sum {
    std::uint64_t count = 0, bytes = 0;
    Counts places{};
  };
  std::map<std::string, Sum> all_;
};

// Members of reports that this version does not know. Lists are united; of other values the first
// stays.
class Unknown {
 public:
  void add(const Json& report) {
    for (const auto& [key, value] : report.items()) {
      if (std::find(std::begin(kContract), std::end(kContract), key) != std::end(kContract))
        continue;
      if (members_.size() == kMost && !members_.contains(key)) continue;
      const auto [member, fresh] = members_.try_emplace(key, value);
      if (value.is_array() && (fresh || member->second.is_array())) lists_[key].add(value);
    }
  }
  void move_into(Json& merged) {
    for (auto& [key, value] : members_) merged[key] = std::move(value);
    for (const auto& [key, list] : lists_) merged[key] = list.list();
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::map<std::string, Json> members_;
  std::map<std::string, Union> lists_;
};

// A clause about a process that ended after its last report.
std::string cut_short(const ProcessReport& report, const Endings& endings) {
  const bool judged = report.leaks == ProcessReport::Leaks::kJudged;
  const std::string looked =
      judged ? "; `cuvmm run` looked for them among the objects that it held then"
             : "; its findings until then count";
  if (report.became_another)
    return "became another program through exec before it could look for leaks" + looked;
  if (report.exited) {
    return std::string(
               "ended by itself, but its leaks are not known: its last report could not be ") +
           "written, or it had become another program" + looked;
  }
  const auto signal = endings.signals.find(report.pid);
  const bool known = signal != endings.signals.end();
  return "was ended " + (known ? "by " + signal_text(signal->second) + " " : "") +
         "before it could look for leaks" +
         (known                  ? ""
          : endings.left_running ? " (killed, or still running)"
                                 : " (killed, or it became another program)") +
         looked;
}

class Merger {
 public:
  Merger(std::vector<std::string> notes, const Endings& endings) : endings_(endings) {
    result_.notes = std::move(notes);
  }

  void add(const ProcessReport& report) {
    if (!report.error.empty()) return add_unread(report);
    ++result_.processes;
    const Json& value = report.value;
    result_.calls_known = result_.calls_known && report.calls_known;
    const std::string process = "process " + std::to_string(report.pid);
    for (const std::string& what : report.problems) note(process + ": " + what);
    if (report.last_lost) {
      ++result_.unread;
      note(process +
           " could not write its last report, so its report was lost: its stderr has what " +
           "it found");
    }
    add_driver(value, process);
    if (value.value("ended", "") == "running" && !is_refused_child(value)) {
      note(process + " " + cut_short(report, endings_));
    }
    if (report.leaks == ProcessReport::Leaks::kUnknown) {
      result_.unjudged.push_back(report.pid);
      note(process + ": leaks were not looked for" +
           (report.why_unknown.empty() ? "" : ": " + report.why_unknown));
    }
    for (const std::string& text : report.in_flight) note(process + ": " + text);
    result_.perhaps_leaked = saturating_sum(result_.perhaps_leaked, report.perhaps_leaked);
    if (!report.in_use_list.empty()) result_.in_use_lists.push_back(report.in_use_list);
    if (value.contains("notes")) {
      for (const Json& text : value["notes"]) note(process + ": " + text.get<std::string>());
    }
    suppressed_ = saturating_sum(suppressed_, value.value("suppressed", std::uint64_t{0}));
    expected_ = saturating_sum(expected_, value.value("expected", std::uint64_t{0}));
    add_counts(calls_, value, "calls");
    add_counts(alive_, value, "alive");
    in_use_.add(value, "in_use");
    ended_with_context_.add(value, "ended_with_context");
    in_use_listed_ = in_use_listed_ || value.value("in_use_listed", false);
    if (value.contains("work")) add_counts(work_, value, "work");
    if (value.contains("unchecked")) unchecked_.add(value["unchecked"]);
    if (value.contains("unchecked_calls")) unchecked_calls_.add(value["unchecked_calls"]);
    for (Json finding : value["findings"]) {
      finding["pid"] = report.pid;
      add_finding(std::move(finding));
    }
    for (const Json& finding : report.judged) add_between(finding);
    if (value.contains("refusals")) {
      for (Json refusal : value["refusals"]) {
        refusal["pid"] = report.pid;
        refusals_.push_back(std::move(refusal));
      }
    }
    if (value.contains("unused_suppressions")) {
      for (const Json& text : value["unused_suppressions"]) ++unused_[text.get<std::string>()];
    }
    if (value.contains("fault")) {
      faults_.push_back(value["fault"]);
      faults_.back()["pid"] = report.pid;
    }
    unknown_.add(value);
  }

  void add_finding(Json finding) {
    count(result_.totals, finding);
    if (result_.first_rule.empty() && finding["kind"] != "advice" && finding["kind"] != "answer") {
      result_.first_rule = finding["rule"].get<std::string>();
    }
    findings_.push_back(std::move(finding));
  }

  void add_between(Json finding) {
    result_.between.push_back(finding);
    add_finding(std::move(finding));
  }

  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  MergedReport finish() {
    relate(findings_);
    if (driver_.is_null()) driver_ = {{"path", ""}, {"version", 0}, {"emulated", false}};
    const Totals& totals = result_.totals;
    result_.value = {
        {"schema", kReportSchema},
        {"driver", driver_},
        {"calls", calls_},
        {"unchecked", unchecked_.list()},
        {"findings", std::move(findings_)},
        {"summary",
         {{"error", totals.errors}, {"undefined", totals.undefined}, {"leak", totals.leaks}}},
        {"suppressed", suppressed_},
        {"alive",
         {{"allocations", alive_["allocations"]},
          {"bytes", alive_["bytes"]},
          {"reservations", alive_["reservations"]}}},
        {"processes", result_.processes},
        {"notes", result_.notes}};
    if (Json list = in_use_.list(); !list.empty()) result_.value["in_use"] = std::move(list);
    if (Json list = ended_with_context_.list(); !list.empty())
      result_.value["ended_with_context"] = std::move(list);
    if (in_use_listed_) result_.value["in_use_listed"] = true;
    result_.value["refusals"] = std::move(refusals_);
    if (!result_.unjudged.empty()) result_.value["leaks_not_looked_for"] = result_.unjudged;
    if (result_.perhaps_leaked != 0) result_.value["perhaps_leaked"] = result_.perhaps_leaked;
    if (!faults_.empty()) result_.value["faults"] = std::move(faults_);
    if (!work_.empty()) result_.value["work"] = work_;
    if (!unchecked_calls_.list().empty())
      result_.value["unchecked_calls"] = unchecked_calls_.list();
    if (expected_ != 0) result_.value["expected"] = expected_;
    // A suppression counts as unused only if no process used it.
    for (const auto& [text, processes] : unused_) {
      if (processes == result_.processes) result_.value["unused_suppressions"].push_back(text);
    }
    unknown_.move_into(result_.value);
    return std::move(result_);
  }

 private:
  void add_unread(const ProcessReport& report) {
    ++result_.unread;
    if (!report.lost) return note("a process's report was not read: " + report.error);
    const std::string who = report.pid ? "process " + std::to_string(report.pid) : "a process";
    const auto signal = endings_.signals.find(report.pid);
    const std::string how =
        signal == endings_.signals.end() ? "" : " and was ended by " + signal_text(signal->second);
    note(who + " used a driver" + how + ", and its report was lost: " + report.error);
  }

  void add_driver(const Json& value, const std::string& process) {
    if (!has_driver(value)) return;
    if (driver_.is_null()) {
      driver_ = value["driver"];
    } else if (driver_["path"] != value["driver"]["path"]) {
      note(process + " used another driver: " + value["driver"]["path"].get<std::string>());
    }
  }

  const Endings& endings_;
  MergedReport result_;
  Json driver_ = nullptr, findings_ = Json::array(), faults_ = Json::array(),
       refusals_ = Json::array();
  Counts calls_, alive_, work_;
  Sums in_use_, ended_with_context_;
  bool in_use_listed_ = false;
  Union unchecked_;
  Union unchecked_calls_;
  Unknown unknown_;
  std::map<std::string, std::uint64_t> unused_;  // in how many processes
  std::uint64_t suppressed_ = 0, expected_ = 0;
};

}  // namespace

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a > most - b ? most : a + b;
}

std::string signal_text(int signal) {
  const char* const name = sigabbrev_np(signal);
  return "signal " + std::to_string(signal) + (name ? std::string(" (SIG") + name + ")" : "");
}

MergedReport merge_reports(const std::vector<ProcessReport>& reports,
                           std::vector<std::string> notes, const Endings& endings) {
  Merger merger(std::move(notes), endings);
  for (const ProcessReport& report : reports) merger.add(report);
  IpcFindings ipc = ipc_order_findings(reports);
  for (Json& finding : ipc.findings) merger.add_between(std::move(finding));
  if (ipc.left_out > 0) {
    merger.note(std::to_string(ipc.left_out) +
                " more findings of memory that was freed while another process had it open were "
                "left out");
  }
  return merger.finish();
}

namespace {

// JSON values of all reports together. They take about 2 GB if each is a member of an object.
constexpr std::size_t kMostValuesTogether = 20'000'000;

// "X.json" for "X.json.<pid>.<time>.tmp": a process writes the temporary file, and then renames it.
std::string target_of(const std::string& temporary) {
  const std::size_t end = temporary.rfind(".json.");
  return end == std::string::npos ? "" : temporary.substr(0, end + 5);
}

}  // namespace

std::vector<ProcessReport> read_reports(const std::string& folder, std::int64_t first) {
  std::set<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string file = at->path().string();
    // tools/timeline/ and tools/run/preload/other_libc.h read files with these endings.
    if (!file.ends_with(".timeline") && !file.ends_with(".other-libc")) files.insert(file);
  }
  std::vector<ProcessReport> reports;
  std::size_t values = 0;
  for (const std::string& file : files) {
    const bool unfinished = !file.ends_with(".json");
    // The file that the unfinished one should replace is there, and says that the process ran on.
    if (unfinished && files.contains(target_of(file))) continue;
    if (values > kMostValuesTogether) {
      reports.push_back(
          {.error = file + ": those before it fill the memory that reports may take"});
      continue;
    }
    ProcessReport& report = reports.emplace_back(read_process_report(file));
    const std::string name = std::filesystem::path(file).filename();
    report.image = name.substr(0, name.find(".json"));
    report.last_lost = files.contains(file + kLostMark);
    values += report.values;
    if (unfinished && !report.error.empty()) report.error += " (it was unfinished)";
  }
  if (error) reports.push_back({.error = folder + ": " + error.message()});
  std::sort(reports.begin(), reports.end(), [&](const ProcessReport& a, const ProcessReport& b) {
    return std::make_tuple(a.pid != first, a.pid, a.image, a.error) <
           std::make_tuple(b.pid != first, b.pid, b.image, b.error);
  });
  return reports;
}

}  // namespace cuvmm::tools
