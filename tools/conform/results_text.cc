// SPDX-License-Identifier: Apache-2.0
#include "tools/conform/results_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "api/area.h"
#include "api/symbols/find_entry.h"

namespace cuvmm::tools {

using conformance::Case;
using conformance::CaseResult;
using conformance::CaseStatus;
using conformance::Recording;

namespace {

using Results = std::vector<const CaseResult*>;

bool differs(const CaseResult& result) {
  return result.status != CaseStatus::kPass && result.status != CaseStatus::kNotSupported;
}

bool is_news(const CaseResult& result) {
  return result.unexpected_pass ||
         (differs(result) && !result.known && result.status != CaseStatus::kWaived);
}

// The gravest status has the smallest number.
int rank(const CaseResult& result) {
  constexpr std::array kOrder = {CaseStatus::kFail, CaseStatus::kCrash, CaseStatus::kTimeout,
                                 CaseStatus::kDeviation, CaseStatus::kWaived};
  const auto at = std::find(kOrder.begin(), kOrder.end(), result.status);
  // A legal call that ends the process is as grave as a wrong answer.
  return result.legal ? 0 : static_cast<int>(at - kOrder.begin());
}

// The area of the last call that belongs to one: earlier calls prepare that call.
std::string area_of_case(const Case& each) {
  const auto& statements = each.program.statements;
  for (auto at = statements.rbegin(); at != statements.rend(); ++at) {
    const auto entry = find_entry(at->function);
    if (entry && !area_of(*entry).empty()) return std::string(area_of(*entry));
  }
  return "other";
}

std::string line_of(const CaseResult& result, const ResultsTextOptions& options) {
  std::string text = fmt::format("{:<13} {}", name(result.status), result.test_case->name);
  if (result.unexpected_pass) text += ": waived (" + result.waiver + "), but passes";
  if (!result.reason.empty()) text += ": " + result.reason;
  if (result.status == CaseStatus::kWaived) text += "; waived: " + result.waiver;
  if (result.known) text += " (known)";
  text += '\n';
  if (!options.stderr_texts) return text;
  const auto wrote = options.stderr_texts->find(result.test_case->name);
  if (wrote != options.stderr_texts->end()) text += "              on stderr: " + wrote->second;
  return text;
}

std::string section(const std::string& title, Results list, const ResultsTextOptions& options) {
  if (list.empty()) return "";
  std::stable_sort(list.begin(), list.end(),
                   [](const auto* a, const auto* b) { return rank(*a) < rank(*b); });
  std::string text = title + "\n";
  for (const CaseResult* each : list) text += line_of(*each, options);
  return text + "\n";
}

std::string table_of_areas(const std::vector<CaseResult>& results) {
  struct Row {
    int passed = 0, news = 0, known = 0, waived = 0, skipped = 0;
  };
  std::map<std::string, Row> rows;
  for (const CaseResult& result : results) {
    Row& row = rows[area_of_case(*result.test_case)];
    if (result.status == CaseStatus::kPass) {
      ++row.passed;
    } else if (result.status == CaseStatus::kNotSupported) {
      ++row.skipped;
    } else if (result.status == CaseStatus::kWaived) {
      ++row.waived;
    } else {
      ++(result.known ? row.known : row.news);
    }
  }
  std::string text = fmt::format("{:<20}{:>8}{:>8}{:>8}{:>8}{:>15}\n", "area", "passed", "new",
                                 "known", "waived", "not supported");
  for (const auto& [area, row] : rows)
    text += fmt::format("{:<20}{:>8}{:>8}{:>8}{:>8}{:>15}\n", area, row.passed, row.news, row.known,
                        row.waived, row.skipped);
  return text + "\n";
}

std::string skipped_by_reason(const std::vector<CaseResult>& results) {
  std::map<std::string, int> reasons;
  for (const CaseResult& result : results) {
    // A family's reason ends with the call that showed the lack, which differs from case to case.
    if (result.status == CaseStatus::kNotSupported)
      ++reasons[result.reason.substr(0, result.reason.find(": "))];
  }
  if (reasons.empty()) return "";
  std::vector<std::pair<std::string, int>> list(reasons.begin(), reasons.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "not supported here (--verbose lists the cases):\n";
  for (const auto& [reason, number] : list) text += fmt::format("{:>6}  {}\n", number, reason);
  return text + "\n";
}

std::string title_of_news(const Recording& recording, const ResultsTextOptions& options,
                          std::size_t number) {
  if (options.known_gpu.empty())
    return fmt::format(
        "{} answers that are not as documented (cuvmm has no recording of driver {}):", number,
        recording.driver_version.empty() ? "?" : recording.driver_version);
  return fmt::format(
      "{} answers that are not as documented, and that no recording of this driver has:", number);
}

}  // namespace

std::string results_text(const std::vector<CaseResult>& results, const Recording& recording,
                         const ResultsTextOptions& options) {
  Results news, known, rest;
  for (const CaseResult& result : results)
    (is_news(result) ? news : differs(result) ? known : rest).push_back(&result);
  std::string text = section(title_of_news(recording, options, news.size()), news, options);
  if (options.verbose) {
    text += section("Known or waived:", known, options);
    text += section("Passed, or not supported here:", rest, options);
  } else {
    text += skipped_by_reason(results);
  }
  text += table_of_areas(results);
  if (!known.empty() && !options.verbose)
    text += fmt::format("{} answers are known{}; --verbose lists them\n", known.size(),
                        options.known_gpu.empty() || options.known_gpu == recording.gpu
                            ? ""
                            : " from an " + options.known_gpu + " with this driver");
  return text;
}

}  // namespace cuvmm::tools
