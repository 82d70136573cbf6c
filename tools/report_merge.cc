#include "tools/report_merge.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "tools/ipc_order.h"

namespace cuvmm {

namespace {

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a > most - b ? most : a + b;  // counts come from other processes: saturate, never wrap
}

void add_counts(Json& to, const Json& report, const char* key) {
  const auto counts = report.find(key);
  if (counts == report.end()) return;
  for (const auto& [name, count] : counts->items()) {
    const std::uint64_t before = to.contains(name) ? to[name].get<std::uint64_t>() : 0;
    to[name] = add(before, count.get<std::uint64_t>());
  }
}

void unite(Json& to, const Json& list) {
  for (const Json& item : list) {
    if (std::find(to.begin(), to.end(), item) == to.end()) to.push_back(item);
  }
}

bool has_driver(const Json& report) {
  const auto driver = report.find("driver");
  if (driver == report.end() || !driver->is_object()) return false;
  const auto path = driver->find("path");
  return path != driver->end() && path->is_string() && !path->get<std::string>().empty();
}

void count(Totals& totals, const Json& finding) {
  const std::string kind = finding["kind"];
  std::uint64_t& total = kind == "error"       ? totals.errors
                         : kind == "undefined" ? totals.undefined
                         : kind == "leak"      ? totals.leaks
                                               : totals.advice;
  total = add(total, finding["count"].get<std::uint64_t>());
}

/// Leaks of different processes that keep one memory alive name each other: none of them is the
/// whole reason.
void relate(Json& findings) {
  std::map<std::string, std::vector<Json*>> by_memory;
  for (Json& finding : findings) {
    const auto memory = finding.find("memory");
    if (memory != finding.end() && memory->is_string()) {
      by_memory[memory->get<std::string>()].push_back(&finding);
    }
  }
  for (auto& [memory, keepers] : by_memory) {
    std::vector<Json> related;
    for (const Json* keeper : keepers) {
      related.push_back({{"pid", (*keeper)["pid"]}, {"rule", (*keeper)["rule"]}});
    }
    for (Json* keeper : keepers) {
      for (const Json& other : related) {
        if (other["pid"] != (*keeper)["pid"]) (*keeper)["related"].push_back(other);
      }
    }
  }
}

constexpr const char* kContract[] = {"schema",    "pid",      "ended",   "driver",     "calls",
                                     "unchecked", "findings", "summary", "suppressed", "alive",
                                     "processes", "notes",    "ipc"};

// What this version does not know: lists are united, of anything else the first one stays.
void keep_unknown(Json& to, const Json& report) {
  for (const auto& [key, value] : report.items()) {
    if (std::find(std::begin(kContract), std::end(kContract), key) != std::end(kContract)) continue;
    if (!to.contains(key)) {
      to[key] = value;
    } else if (to[key].is_array() && value.is_array()) {
      unite(to[key], value);
    }
  }
}

}  // namespace

MergedReport merge_reports(const std::vector<ProcessReport>& reports,
                           std::vector<std::string> notes) {
  MergedReport result;
  Json driver = nullptr, calls = Json::object(), unchecked = Json::array();
  Json findings = Json::array(), note_list = Json::array(), unknown = Json::object();
  Json alive = {{"allocations", 0u}, {"bytes", 0u}, {"reservations", 0u}};
  std::uint64_t suppressed = 0;
  for (const ProcessReport& report : reports) {
    if (!report.error.empty()) {
      notes.push_back("a process's report was not read: " + report.error);
      continue;
    }
    ++result.processes;
    const Json& value = report.value;
    if (has_driver(value)) {
      if (driver.is_null()) {
        driver = value["driver"];
      } else if (driver["path"] != value["driver"]["path"]) {
        notes.push_back("process " + std::to_string(report.pid) +
                        " used another driver: " + value["driver"]["path"].get<std::string>());
      }
    }
    if (value.value("ended", Json("exit")) == "running") {
      notes.push_back(
          "process " + std::to_string(report.pid) +
          " did not get to its last report; what came after, leaks among it, is missing");
    }
    suppressed = add(suppressed, value.value("suppressed", std::uint64_t{0}));
    add_counts(calls, value, "calls");
    add_counts(alive, value, "alive");
    if (value.contains("unchecked")) unite(unchecked, value["unchecked"]);
    for (Json finding : value["findings"]) {
      finding["pid"] = report.pid;
      count(result.totals, finding);
      if (result.first_rule.empty() && finding["kind"] != "advice") {
        result.first_rule = finding["rule"].get<std::string>();
      }
      findings.push_back(std::move(finding));
    }
    if (value.contains("notes") && value["notes"].is_array()) unite(note_list, value["notes"]);
    keep_unknown(unknown, value);
  }
  for (Json& finding : ipc_order_findings(reports)) {
    count(result.totals, finding);
    if (result.first_rule.empty()) result.first_rule = finding["rule"].get<std::string>();
    findings.push_back(std::move(finding));
  }
  relate(findings);
  for (const std::string& note : notes) note_list.push_back(note);
  if (driver.is_null()) driver = {{"path", ""}, {"version", 0}, {"emulated", false}};
  result.value = {{"schema", kReportSchema},
                  {"driver", driver},
                  {"calls", calls},
                  {"unchecked", unchecked},
                  {"findings", findings},
                  {"summary",
                   {{"error", result.totals.errors},
                    {"undefined", result.totals.undefined},
                    {"leak", result.totals.leaks}}},
                  {"suppressed", suppressed},
                  {"alive", alive},
                  {"processes", result.processes},
                  {"notes", note_list}};
  for (const auto& [key, value] : unknown.items()) result.value[key] = value;
  result.notes = std::move(notes);
  return result;
}

std::vector<ProcessReport> read_reports(const std::string& folder, std::int64_t first) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    files.push_back(entry.path().string());
  }
  std::vector<ProcessReport> reports;
  for (const std::string& file : files) {
    if (file.size() > 5 && file.ends_with(".json")) {
      reports.push_back(read_process_report(file));
    } else {
      reports.push_back({0, {}, file + ": unfinished: the process ended while it wrote it"});
    }
  }
  if (error) reports.push_back({0, {}, folder + ": " + error.message()});
  std::sort(reports.begin(), reports.end(), [&](const ProcessReport& a, const ProcessReport& b) {
    return std::make_tuple(a.pid != first, a.pid, a.error) <
           std::make_tuple(b.pid != first, b.pid, b.error);
  });
  return reports;
}

}  // namespace cuvmm
