#include "tools/summary.h"

#include <fmt/core.h>

namespace cuvmm {

namespace {

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string driver_text(const Json& report) {
  const Json& driver = report["driver"];
  if (driver.value("path", "").empty()) return "";
  const auto emulated = driver.find("emulated");
  const bool ours = emulated != driver.end() && emulated->is_boolean() && emulated->get<bool>();
  return ours ? " (emulator)" : "";
}

}  // namespace

std::string summary_text(const MergedReport& report, const std::vector<std::string>& files) {
  const Totals& totals = report.totals;
  std::string text;
  for (const std::string& note : report.notes) text += "cuvmm: " + note + "\n";
  std::uint64_t calls = 0;
  for (const auto& [name, count] : report.value["calls"].items())
    calls += count.get<std::uint64_t>();
  if (report.processes > 0) {
    text += fmt::format("cuvmm: {}, {} undefined, {}", counted(totals.errors, "error", "errors"),
                        totals.undefined, counted(totals.leaks, "leak", "leaks"));
    if (totals.advice) text += fmt::format(", {} advice", totals.advice);
    text +=
        fmt::format(" in {} of {}{}\n", counted(calls, "call", "calls"),
                    counted(report.processes, "process", "processes"), driver_text(report.value));
  }
  if (report.processes == 0) {
    text += "cuvmm: nothing was checked: no process used a CUDA driver through cuvmm\n";
  }
  for (const std::string& file : files) text += "cuvmm: report in " + file + "\n";
  if (!report.first_rule.empty()) {
    text += "cuvmm: for the first finding type: cuvmm explain " + report.first_rule + "\n";
  }
  return text;
}

}  // namespace cuvmm
