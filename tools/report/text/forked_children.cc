// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/forked_children.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "rulebook/catalogue/rule.h"
#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostPrinted = 3;

// A finding about the same cause says more.
std::set<std::uint64_t> with_finding(const Json& report) {
  std::set<std::uint64_t> pids;
  for (const Json& finding : list_in(report, "findings")) {
    if (text_in(finding, "rule") == info(Rule::kDriverInitialized).id)
      pids.insert(number_in(finding, "pid"));
  }
  return pids;
}

std::string one_text(const Json& refusal) {
  const std::string runtime = text_in(refusal, "runtime");
  std::string text = "cuvmm: refused: " + (runtime.empty() ? runtime : runtime + ": ") +
                     text_in(refusal, "call") + " answered " + text_in(refusal, "result");
  const std::vector<frames::Frame> stack = frames_in(refusal, "stack");
  if (!stack.empty()) text += ", at " + frames::place_text(stack);
  text += '\n';
  const auto facts = refusal.find("facts");
  if (facts == refusal.end()) return text;
  for (const Json& fact : list_in(*facts, "known")) {
    if (fact.is_string()) text += "    " + fact.get<std::string>() + "\n";
  }
  return text;
}

}  // namespace

bool is_refused_child(const Json& report) {
  const auto calls = report.find("calls");
  if (calls != report.end() && !calls->empty()) return false;
  const Json& refusals = list_in(report, "refusals");
  return std::any_of(refusals.begin(), refusals.end(),
                     [](const Json& refusal) { return number_in(refusal, "forked_from") != 0; });
}

std::string forked_children_text(const Json& report) {
  const std::set<std::uint64_t> explained = with_finding(report);
  std::string text;
  std::size_t count = 0;
  for (const Json& refusal : list_in(report, "refusals")) {
    if (number_in(refusal, "forked_from") == 0 || refusal.contains("printed")) continue;
    if (explained.contains(number_in(refusal, "pid"))) continue;
    if (++count <= kMostPrinted) text += one_text(refusal);
  }
  if (count > kMostPrinted) {
    text += fmt::format("cuvmm: refused: {} more children of fork (--report has all)\n",
                        count - kMostPrinted);
  }
  return harmless(text);
}

}  // namespace cuvmm::tools
