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

// Whether the call was to make something or to do something. A question is no such call, nor is a
// free: a child may end objects that it inherited.
bool asks_for_work(const Json& refusal) {
  const std::string runtime = text_in(refusal, "runtime");
  const std::string name = runtime.empty() ? text_in(refusal, "call") : runtime;
  if (name.find("Get") != name.npos || name.find("Free") != name.npos) return false;
  constexpr const char* kWork[] = {"alloc",  "Alloc",  "Memcpy",   "Memset",
                                   "Launch", "Create", "Register", "LoadData"};
  return name == "kernel<<<>>>" ||
         std::ranges::any_of(kWork, [&](const char* word) { return name.find(word) != name.npos; });
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

std::string forked_children_text(const Json& report, bool failed) {
  std::set<std::uint64_t> with_text = with_finding(report);
  for (const Json& refusal : list_in(report, "refusals")) {
    if (refusal.contains("printed")) with_text.insert(number_in(refusal, "pid"));
  }
  std::string text;
  std::size_t count = 0;
  for (const bool work : {true, false}) {
    if (!work && !failed) continue;
    for (const Json& refusal : list_in(report, "refusals")) {
      if (number_in(refusal, "forked_from") == 0 || (work && !asks_for_work(refusal))) continue;
      if (!with_text.insert(number_in(refusal, "pid")).second) continue;
      if (++count > kMostPrinted) continue;
      text += one_text(refusal);
      if (!failed)
        text += "    The program ended well all the same: nothing of this work was done.\n";
    }
  }
  if (count > kMostPrinted) {
    text += fmt::format("cuvmm: refused: {} more children of fork (--report has all)\n",
                        count - kMostPrinted);
  }
  return harmless(text);
}

}  // namespace cuvmm::tools
