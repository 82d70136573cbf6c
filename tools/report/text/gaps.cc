// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/gaps.h"

#include <fmt/core.h>

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

std::vector<std::string> escaped_of(const Json& report) {
  std::vector<std::string> files;
  const auto escaped = report.find("escaped");
  if (escaped == report.end() || !escaped->is_array()) return files;
  for (const Json& file : *escaped) {
    if (file.is_string()) files.push_back(file.get<std::string>());
  }
  return files;
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
  if (const std::vector<std::string> files = escaped_of(report.value); !files.empty()) {
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

std::string skipped_sentence(const NotEmulated& missing) {
  const std::uint64_t count = missing.skipped_launches;
  if (count == 0) return "";
  return fmt::format(
      "{} skipped, because the emulator could not run {}: what the program says about {} results "
      "(PASSED, for example) proves nothing",
      count == 1 ? "1 kernel launch was" : std::to_string(count) + " kernel launches were",
      count == 1 ? "it" : "them", count == 1 ? "its" : "their");
}

std::string not_emulated_sentence(const NotEmulated& missing) {
  if (missing.functions.empty()) return "";
  return fmt::format(
      "the emulator lacks {} that the program called, and answered NOT_SUPPORTED: {}. What the "
      "program does with {} was not checked",
      missing.functions.size() == 1 ? "a function" : "functions", named(missing.functions),
      missing.functions.size() == 1 ? "it" : "them");
}

}  // namespace cuvmm::tools
