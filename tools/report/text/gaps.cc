// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/gaps.h"

#include <fmt/core.h>

#include <algorithm>

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostNamed = 4;

std::string named(const std::vector<std::string>& files) {
  std::string text;
  for (std::size_t i = 0; i < files.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : ", ") + files[i];
  if (files.size() > kMostNamed) text += fmt::format(" and {} more", files.size() - kMostNamed);
  return text;
}

std::vector<std::string> strings_of(const Json& report, const char* member) {
  std::vector<std::string> strings;
  const auto list = report.find(member);
  if (list == report.end() || !list->is_array()) return strings;
  for (const Json& each : *list) {
    if (each.is_string()) strings.push_back(each.get<std::string>());
  }
  return strings;
}

// The emulated runtime lacks such a function; the shim knows the driver's.
bool runtime_changes_memory(const std::string& name) {
  if (!name.starts_with("cuda") || name.find("Get") != name.npos) return false;
  constexpr const char* kWords[] = {"Malloc", "Mem",      "Free",     "Array",
                                    "Ipc",    "External", "Graphics", "EGLStream"};
  return std::ranges::any_of(kWords,
                             [&](const char* word) { return name.find(word) != name.npos; });
}

}  // namespace

std::uint64_t checked_calls(const MergedReport& report) {
  std::uint64_t calls = 0;
  for (const auto& [name, count] : report.value["calls"].items()) {
    calls = saturating_sum(calls, count.get<std::uint64_t>());
  }
  return calls;
}

bool nothing_checked(const MergedReport& report) {
  return report.unread == 0 && report.calls_known && report.unjudged.empty() &&
         report.value["findings"].empty() && checked_calls(report) == 0;
}

std::vector<std::string> gap_sentences(const MergedReport& report, const NotEmulated& missing) {
  std::vector<std::string> sentences;
  if (const std::vector<std::string> files = strings_of(report.value, "escaped"); !files.empty()) {
    sentences.push_back("calls were not checked that went to a driver beside the shim: " +
                        named(files));
  }
  if (!report.without_shim.empty()) {
    sentences.push_back(
        "calls were not checked of processes that cuvmm's shim was not in, because they were "
        "started without LD_PRELOAD (env -i, sudo), or are linked statically: " +
        named(report.without_shim));
  }
  if (!missing.need_driver.empty()) {
    sentences.push_back(
        "nothing was checked of what needs a real driver, because a CUDA runtime of NVIDIA's is in "
        "it: " +
        named(missing.need_driver));
  }
  std::vector<std::string> calls = strings_of(report.value, "unchecked_calls");
  std::erase_if(calls, [&](const std::string& name) {
    return std::ranges::find(missing.functions, name) != missing.functions.end();
  });
  if (!calls.empty()) {
    sentences.push_back(
        "calls were not checked of functions about memory that cuvmm has no rules for: " +
        named(calls));
  }
  if (!nothing_checked(report)) return sentences;
  if (report.processes == 0) {
    sentences.push_back("nothing was checked: no process used a CUDA driver through cuvmm");
  } else {
    sentences.push_back(fmt::format(
        "nothing was checked: {} started a CUDA driver, and made no call that cuvmm checks",
        report.processes == 1 ? "1 process" : std::to_string(report.processes) + " processes"));
  }
  return sentences;
}

bool calls_unchecked(const MergedReport& report, const NotEmulated& missing) {
  return !strings_of(report.value, "unchecked_calls").empty() ||
         std::ranges::any_of(missing.functions, runtime_changes_memory);
}

std::string skipped_sentence(const NotEmulated& missing) {
  const std::uint64_t count = missing.skipped_launches;
  if (count == 0) return "";
  return fmt::format(
      "{} skipped, because the emulator could not run {}: what the program says about {} results "
      "(PASSED, for example) proves nothing",
      count == 1 ? "1 kernel launch was" : std::to_string(count) + " kernel launches were",
      count == 1 ? "it" : "them", count == 1 ? "its" : "their");
}

std::string kernels_sentence(const NotEmulated& run) {
  if (!run.checks_kernels) return "";
  if (no_kernel_checked(run)) {
    return "no kernel was checked: the program launched none that the emulator could run, so the "
           "absence of findings about kernels proves nothing";
  }
  const std::size_t count = run.checked_kernels.size();
  return fmt::format("{} checked while {} ran ({})",
                     count == 1 ? "1 kernel was" : std::to_string(count) + " kernels were",
                     count == 1 ? "it" : "they", named(run.checked_kernels)) +
         (run.skipped_launches == 0 ? "" : "; the launches that were skipped were not");
}

std::string not_emulated_sentence(const NotEmulated& missing) {
  if (missing.functions.empty()) return "";
  return fmt::format(
      "the emulator lacks {} that the program called, and answered NOT_SUPPORTED: {}. cuvmm did "
      "not "
      "check how the program uses {}",
      missing.functions.size() == 1 ? "a function" : "functions", named(missing.functions),
      missing.functions.size() == 1 ? "it" : "them");
}

}  // namespace cuvmm::tools
