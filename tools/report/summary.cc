// SPDX-License-Identifier: Apache-2.0
#include "tools/report/summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "recorder/holdings/in_use_text.h"
#include "tools/report/text/finding_text.h"
#include "tools/report/text/findings_table.h"

namespace cuvmm::tools {

namespace {

std::string one_or_more(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string driver_text(const Json& report) {
  const Json& driver = report["driver"];
  if (driver.value("path", "").empty()) return "";
  const auto emulated = driver.find("emulated");
  const bool is_emulator =
      emulated != driver.end() && emulated->is_boolean() && emulated->get<bool>();
  return is_emulator ? " (emulator)" : "";
}

// Replaces control characters by '?'. A text that a process wrote may hold commands for a terminal.
std::string printable(const std::string& text) {
  std::string result = text;
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result;
}

constexpr std::size_t kMostNotes = 20;

std::string notes_text(const MergedReport& report) {
  std::string text;
  const std::size_t shown = std::min(kMostNotes, report.notes.size());
  for (std::size_t i = 0; i < shown; ++i) text += "cuvmm: " + printable(report.notes[i]) + "\n";
  const std::size_t more = report.notes.size() - shown;
  if (more > 0)
    text += fmt::format("cuvmm: and {} (--report has all)\n",
                        one_or_more(more, "more note", "more notes"));
  return text;
}

constexpr std::size_t kMostUnused = 4;

std::string unused_text(const Json& report) {
  const auto unused = report.find("unused_suppressions");
  if (unused == report.end() || unused->empty()) return "";
  std::string text =
      "cuvmm: " + one_or_more(unused->size(), "suppression was", "suppressions were") +
      " not used:\n";
  for (std::size_t i = 0; i < unused->size() && i < kMostUnused; ++i)
    text += "    " + printable((*unused)[i].get<std::string>()) + "\n";
  if (unused->size() > kMostUnused)
    text += fmt::format("    and {} more (--report has all)\n", unused->size() - kMostUnused);
  return text;
}

// "process 7", "process 7 and 3 more".
std::string processes_text(const std::vector<std::int64_t>& pids) {
  const std::string first = fmt::format("process {}", pids.front());
  return pids.size() == 1 ? first : fmt::format("{} and {} more", first, pids.size() - 1);
}

std::string sums_text(const Json& report, const char* key) {
  const auto list = report.find(key);
  if (list == report.end()) return "";
  std::string text;
  for (const Json& one : *list) {
    if (!text.empty()) text += ", ";
    text += printable(
        holdings::sum_text({one["what"].get<std::string>(), one["count"].get<std::uint64_t>(),
                            one["bytes"].get<std::uint64_t>(), one.value("made_at", ""),
                            one.value("made_there", std::uint64_t{0})}));
  }
  return text;
}

std::string in_use_text(const Json& report) {
  const std::string text = holdings::in_use_sentence(sums_text(report, "in_use"),
                                                     sums_text(report, "ended_with_context"),
                                                     report.value("in_use_listed", false));
  return text.empty() ? text : "cuvmm: " + text + "\n";
}

// A report that is lost may hold findings.
std::string errors_text(const MergedReport& report) {
  const Totals& totals = report.totals;
  const bool lost = report.unread > 0;
  if (lost && totals.errors == 0 && totals.undefined == 0) return "errors: not known";
  return fmt::format("{}{}, {} undefined", lost ? "at least " : "",
                     one_or_more(totals.errors, "error", "errors"), totals.undefined);
}

}  // namespace

std::string summary_text(const MergedReport& report, const std::vector<std::string>& files,
                         const NotEmulated& missing, int unchecked_exitcode,
                         const std::string& blame) {
  const Totals& totals = report.totals;
  std::string text = notes_text(report) + findings_table(report.value["findings"]);
  const bool unknown = !report.unjudged.empty();
  if (report.processes > 0 && !nothing_checked(report)) {
    const std::string leaks = unknown && totals.leaks == 0
                                  ? std::string("leaks: not looked for")
                                  : one_or_more(totals.leaks, "leak", "leaks");
    text += fmt::format("cuvmm: {}, {}", errors_text(report), leaks);
    if (report.perhaps_leaked) {
      text += fmt::format(", {} perhaps leaked",
                          one_or_more(report.perhaps_leaked, "object", "objects"));
    }
    if (totals.advice) text += fmt::format(", {} advice", totals.advice);
    // Calls about streams, events and captures have findings too, and are not counted.
    const std::uint64_t calls = checked_calls(report);
    const std::string of = calls == 0 ? "" : one_or_more(calls, "call", "calls") + " of ";
    text += fmt::format(" in {}{}{}\n", of, one_or_more(report.processes, "process", "processes"),
                        driver_text(report.value));
  }
  text += in_use_text(report.value);
  text += blame;
  text += unused_text(report.value);
  if (report.processes == 0 && report.unread > 0)
    text += "cuvmm: no process's report could be read: the findings are lost\n";
  if (report.processes > 0 && report.unread > 0) {
    text +=
        fmt::format("cuvmm: {} lost, so there may be more findings than these\n",
                    report.unread == 1 ? "a process's report is"
                                       : fmt::format("reports of {} processes are", report.unread));
  }
  for (const std::string& file : files) text += "cuvmm: report in " + file + "\n";
  // The only finding has just said so itself.
  if (!report.first_rule.empty() && list_in(report.value, "findings").size() != 1) {
    text += "cuvmm: to learn more about the first finding, type: cuvmm explain " +
            report.first_rule + "\n";
  }
  if (unchecked_exitcode != 0) {
    text += fmt::format(
        "cuvmm: the exit code is {} (with --allow-unchecked 0), because not all was checked:\n",
        unchecked_exitcode);
  }
  if (const std::string skipped = skipped_sentence(missing); !skipped.empty())
    text += "cuvmm: " + skipped + "\n";
  if (const std::string kernels = kernels_sentence(missing); !kernels.empty())
    text += "cuvmm: " + printable(kernels) + "\n";
  if (const std::string lacking = not_emulated_sentence(missing); !lacking.empty())
    text += "cuvmm: " + printable(lacking) + "\n";
  for (const std::string& gap : gap_sentences(report, missing))
    text += "cuvmm: " + printable(gap) + "\n";
  if (unknown) text += "cuvmm: leaks: not looked for in " + processes_text(report.unjudged) + "\n";
  return text;
}

}  // namespace cuvmm::tools
