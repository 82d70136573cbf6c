// SPDX-License-Identifier: Apache-2.0
#include "tools/matrix/matrix_case.h"

#include <algorithm>
#include <optional>

#include "api/driver/driver.h"
#include "conformance/suite/case.h"
#include "tools/rules/rule_examples.h"

namespace cuvmm::tools {

using program::Statement;

using conformance::Case;

namespace {

// The matrix's word for an outcome; "" if the outcome is no answer ("not-run: ...").
std::string answer_of(const std::string& outcome) {
  if (outcome.rfind("signal:", 0) == 0 || outcome.rfind("exit:", 0) == 0) return "crashes";
  if (outcome.rfind("timeout", 0) == 0) return "hangs";
  const std::string code = outcome.substr(0, outcome.find(' '));
  if (!result_from_name(code)) return "";
  return code == "CUDA_SUCCESS" ? "accepts" : code;
}

// The rule of a family's case that breaks one rule, read from its name:
// "cuMemMap-size/size-granularity~2" breaks cuMemMap-size-granularity, and "cuMemsetD8/data-mapped"
// breaks data-mapped. Nothing for a case of two rules ("+"), because such a case shows only which
// rule the driver checks first.
std::optional<Rule> rule_of_single(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || name.find('+') != std::string::npos) return std::nullopt;
  const std::string function = name.substr(0, name.find_first_of("-/"));
  std::string what = name.substr(slash + 1);
  what = what.substr(0, what.find('~'));
  if (const auto rule = find_rule(function + "-" + what)) return rule;
  return find_rule(what);
}

// The rule that the case breaks; nothing for a legal flow, and for a case of two rules.
std::optional<Rule> rule_of(const std::string& name) {
  const auto known = cases_of_one_rule().find(name);
  return known == cases_of_one_rule().end() ? rule_of_single(name)
                                            : std::optional(known->second.rule);
}

bool is_pair(const std::string& name) { return name.find('+') != std::string::npos; }

}  // namespace

const std::map<std::string, BrokenRule>& cases_of_one_rule() {
  static const std::map<std::string, BrokenRule> table = [] {
    std::map<std::string, BrokenRule> out;
    for (const Case& each : suite_cases()) {
      const bool of_family = each.file.empty();  // rule_of_single() reads the names of these
      if (of_family || each.breaks.size() != 1) continue;
      const auto& statements = each.program.statements;
      const auto at = std::find_if(statements.begin(), statements.end(),
                                   [](const Statement& s) { return !s.breaks.empty(); });
      const auto rule = find_rule(each.breaks[0]);
      if (at == statements.end() || !rule) continue;
      out.emplace(each.name, BrokenRule{*rule, static_cast<std::size_t>(at - statements.begin())});
    }
    return out;
  }();
  return table;
}

void take_answer(MatrixColumn& column, Rule rule, const std::string& outcome,
                 const std::string& name) {
  if (const std::string answer = answer_of(outcome); !answer.empty())
    add_answer(column.cells[rule], answer, name);
}

void skip_rule(MatrixColumn& column, Rule rule, const std::string& reason) {
  std::string& known = column.cells[rule].reason;
  if (known.empty()) known = reason.empty() ? "not supported" : reason;
}

void take_case(MatrixColumn& column, const std::string& name,
               const std::vector<std::string>& outcomes) {
  if (outcomes.empty()) return;
  const auto known = cases_of_one_rule().find(name);
  if (known != cases_of_one_rule().end()) {
    if (known->second.statement < outcomes.size())
      take_answer(column, known->second.rule, outcomes[known->second.statement], name);
  } else if (const auto rule = rule_of_single(name)) {
    // If the process died before the call that breaks the rule, the last outcome is "not-run".
    take_answer(column, *rule, outcomes.back(), name);
  } else if (!is_pair(name)) {
    column.flows.emplace(name, outcomes);
  }
}

void skip_case(MatrixColumn& column, const std::string& name, const std::string& reason) {
  if (const auto rule = rule_of(name)) skip_rule(column, *rule, reason);
}

}  // namespace cuvmm::tools
