// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_facts.h"

#include <algorithm>
#include <set>

#include "api/driver/driver.h"
#include "rulebook/profile/profile.h"
#include "tools/installation/install_paths.h"
#include "tools/rules/rule_examples.h"

namespace cuvmm::tools {

namespace {

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> loaded = [] {
    std::vector<Profile> result;
    for (const std::string& name : builtin_profiles()) {
      ProfileResult one = load_profile(name);
      if (one.error.empty()) result.push_back(std::move(one.profile));
    }
    return result;
  }();
  return loaded;
}

std::string answer_text(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::kCode:
      return result_name(verdict.code);
    case Verdict::Kind::kAccepts:
      return "accepts";
    case Verdict::Kind::kCrashes:
      return "crashes";
  }
  return "?";
}

}  // namespace

std::vector<DriverBehaviour> driver_behaviours(Rule rule) {
  if (info(rule).uncheckable || info(rule).kind == RuleKind::kLeak) return {};
  std::vector<DriverBehaviour> result;
  for (const Profile& profile : profiles()) {
    const std::string answer = answer_text(profile.verdicts[static_cast<std::size_t>(rule)]);
    const bool repeats = std::ranges::any_of(result, [&](const DriverBehaviour& other) {
      return other.driver == profile.driver && other.answer == answer;
    });
    if (!repeats) result.push_back({profile.name, profile.driver, answer});
  }
  return result;
}

std::string entry_text(const RuleInfo& info) {
  if (info.entry != EntryPoint::kCount) return name(info.entry);
  if (of_every_function(info.rule)) return "any entry point";
  const std::vector<std::string> functions = functions_of(info.rule);
  if (functions.empty()) return "several functions";
  constexpr std::size_t kMostListed = 12;
  std::string text;
  for (std::size_t i = 0; i < functions.size() && i < kMostListed; ++i) {
    text += (i == 0 ? "" : ", ") + functions[i];
  }
  if (functions.size() > kMostListed) {
    text += " and " + std::to_string(functions.size() - kMostListed) + " others";
  }
  return text;
}

bool of_every_function(Rule rule) {
  return info(rule).entry == EntryPoint::kCount && area_of(rule) == "general";
}

std::vector<std::string> functions_of(Rule rule) {
  const RuleInfo& it = info(rule);
  if (it.entry != EntryPoint::kCount) return {name(it.entry)};
  return functions_that_break(suite_cases(), it.id);
}

std::string code_text(const RuleInfo& info) {
  if (info.code == CUDA_SUCCESS) return "none";
  std::string code = result_name(info.code);
  switch (info.basis) {
    case CodeBasis::kDocumented:
      return code + " (the documentation ties it to this rule)";
    case CodeBasis::kListed:
      return code + " (in the function's list; inferred for this rule)";
    case CodeBasis::kObserved:
      return code + " (not documented; seen on a driver)";
    case CodeBasis::kNone:
      return code + " (not documented, and not seen)";
  }
  return code;
}

std::string question_text(const RuleInfo& info) {
  if (!info.question) return "";
  return "the call asks whether this holds: that a driver answers " + result_name(info.code) +
         " is an answer, and no " + name(info.kind);
}

const char* basis_name(CodeBasis basis) {
  switch (basis) {
    case CodeBasis::kDocumented:
      return "documented";
    case CodeBasis::kListed:
      return "listed";
    case CodeBasis::kObserved:
      return "observed";
    case CodeBasis::kNone:
      return "none";
  }
  return "?";
}

std::string version_text(int cuda_version) {
  return std::to_string(cuda_version / 1000) + "." + std::to_string(cuda_version % 1000 / 10);
}

std::string rule_web_page(Rule rule) {
  const std::string site = kSite;
  return site.empty() ? site : site + "/rules/" + area_of(rule) + ".html#" + info(rule).id;
}

std::string area_of(Rule rule) { return area(rule); }

std::string example_of(Rule rule) { return shortest_case(suite_cases(), info(rule).id); }

std::vector<std::string> rule_ids() {
  std::vector<std::string> ids;
  for (const RuleInfo& rule : rules()) ids.push_back(rule.id);
  return ids;
}

std::vector<std::string> entry_names() {
  std::set<std::string> names;
  for (const RuleInfo& rule : rules()) {
    for (std::string& function : functions_of(rule.rule)) names.insert(std::move(function));
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> kind_names() {
  return {name(RuleKind::kError), name(RuleKind::kUndefined), name(RuleKind::kLeak),
          name(RuleKind::kAdvice)};
}

}  // namespace cuvmm::tools
