// SPDX-License-Identifier: Apache-2.0
#include "tools/matrix/matrix_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/words.h"
#include "tools/rules/rule_facts.h"

namespace cuvmm::tools {

namespace {

std::set<std::string> texts(const MatrixCell& cell) {
  std::set<std::string> out;
  for (const MatrixCell::Answer& answer : cell.answers) out.insert(answer.text);
  return out;
}

void compare_rules(const Matrix& matrix, MatrixDiff& diff) {
  for (const Rule rule : matrix.rules) {
    const auto first = texts(cell_of(diff.table.columns[0], rule));
    const auto second = texts(cell_of(diff.table.columns[1], rule));
    if (first.empty() && second.empty()) continue;
    if (first == second) {
      ++diff.same;
    } else if (second.empty()) {
      diff.only_first.push_back(rule);
    } else if (first.empty()) {
      diff.only_second.push_back(rule);
    } else {
      diff.table.rules.push_back(rule);
    }
  }
}

void compare_flows(MatrixDiff& diff) {
  const auto& theirs = diff.table.columns[1].flows;
  for (const auto& [name, mine] : diff.table.columns[0].flows) {
    const auto other = theirs.find(name);
    if (other == theirs.end()) continue;
    const auto [a, b] =
        std::mismatch(mine.begin(), mine.end(), other->second.begin(), other->second.end());
    if (a == mine.end() && b == other->second.end()) {
      ++diff.same_flows;
      continue;
    }
    const auto text = [](auto at, const auto& all) { return at == all.end() ? "no call" : *at; };
    diff.flows.push_back({name, static_cast<std::size_t>(a - mine.begin()) + 1, text(a, mine),
                          text(b, other->second)});
  }
}

std::string rules_without(const std::vector<Rule>& only, const std::string& who,
                          std::string_view docs) {
  if (only.empty()) return "";
  std::string text = fmt::format("\nAnswers of {} alone, to {}: ", markdown_text(who),
                                 count_text(only.size(), "rule"));
  for (const Rule rule : only) text += (rule == only[0] ? "" : ", ") + rule_link(rule, docs);
  return text + ".\n";
}

}  // namespace

MatrixDiff difference(const Matrix& matrix, std::size_t first, std::size_t second) {
  MatrixDiff diff;
  diff.table.columns = {matrix.columns[first], matrix.columns[second]};
  diff.table.inputs = matrix.inputs;
  compare_rules(matrix, diff);
  compare_flows(diff);
  return diff;
}

std::string diff_sentence(const MatrixDiff& diff) {
  return fmt::format("{} and {} are answered otherwise; {} and {} alike.",
                     count_text(diff.table.rules.size(), "rule"),
                     count_text(diff.flows.size(), "legal flow"), diff.same, diff.same_flows);
}

std::string diff_tables(const MatrixDiff& diff, std::string_view docs) {
  const MatrixColumn& first = diff.table.columns[0];
  const MatrixColumn& second = diff.table.columns[1];
  const std::string names =
      fmt::format(" {} | {} |\n", markdown_text(first.title), markdown_text(second.title));
  std::string text;
  if (!diff.table.rules.empty()) {
    text += "\n| rule | kind | documented |" + names + "|---|---|---|---|---|\n";
    for (const Rule rule : diff.table.rules) {
      text += fmt::format("| {} | {} | {} | {} | {} |\n", rule_link(rule, docs),
                          name(info(rule).kind), documented_answer(rule),
                          answers_text(cell_of(first, rule)), answers_text(cell_of(second, rule)));
    }
  }
  if (!diff.flows.empty()) {
    text += "\n| legal flow | call |" + names + "|---|---|---|---|\n";
    for (const FlowDifference& each : diff.flows) {
      text += fmt::format("| `{}` | {} | {} | {} |\n", each.name, each.statement,
                          markdown_text(each.first), markdown_text(each.second));
    }
  }
  return text + rules_without(diff.only_first, first.title, docs) +
         rules_without(diff.only_second, second.title, docs);
}

std::string diff_markdown(const MatrixDiff& diff, const std::string& command) {
  const MatrixColumn& first = diff.table.columns[0];
  const MatrixColumn& second = diff.table.columns[1];
  return fmt::format(
      "<!-- Written by `{}`. -->\n# What differs between two drivers\n\n"
      "| driver | run |\n|---|---|\n| {} | {} |\n| {} | {} |\n\n{}\n{}",
      command, markdown_text(first.title), markdown_text(first.detail), markdown_text(second.title),
      markdown_text(second.detail), diff_sentence(diff), diff_tables(diff, ""));
}

}  // namespace cuvmm::tools
