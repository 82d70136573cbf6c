// SPDX-License-Identifier: Apache-2.0
#include "tools/matrix/matrix.h"

#include <algorithm>

#include "api/driver/driver.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::tools {

namespace {

const Profile& documented() {
  static const Profile profile = load_profile("documented").profile;
  return profile;
}

// Advice is legal: success, and a code that the documentation does list, are both as documented.
bool as_documented(Rule rule, const std::string& answer) {
  if (answer == documented_answer(rule)) return true;
  const RuleInfo& row = info(rule);
  if (row.kind != RuleKind::kAdvice) return false;
  const bool listed = row.basis == CodeBasis::kDocumented || row.basis == CodeBasis::kListed;
  return answer == "accepts" || (listed && answer == cuvmm::result_name(row.code));
}

MatrixCell::Status status_of(Rule rule, const MatrixCell& cell) {
  using Status = MatrixCell::Status;
  if (cell.answers.empty()) return cell.reason.empty() ? Status::kNotRun : Status::kNotSupported;
  const auto is_any = [&](const char* text) {
    return std::any_of(cell.answers.begin(), cell.answers.end(),
                       [&](const MatrixCell::Answer& a) { return a.text == text; });
  };
  if (is_any("crashes") || is_any("hangs")) return Status::kCrash;
  const bool pass =
      std::all_of(cell.answers.begin(), cell.answers.end(),
                  [&](const MatrixCell::Answer& a) { return as_documented(rule, a.text); });
  return pass ? Status::kPass : Status::kDeviation;
}

void join(MatrixColumn& into, const MatrixColumn& from) {
  into.detail += "; " + from.detail;
  for (const auto& [rule, cell] : from.cells) {
    MatrixCell& mine = into.cells[rule];
    for (const MatrixCell::Answer& answer : cell.answers) {
      for (const std::string& each : answer.cases) add_answer(mine, answer.text, each);
    }
    if (mine.reason.empty()) mine.reason = cell.reason;
  }
  into.flows.insert(from.flows.begin(), from.flows.end());
}

}  // namespace

const char* name(MatrixCell::Status status) {
  constexpr const char* kNames[] = {"Pass", "Deviation", "Crash", "NotSupported", "NotRun"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string documented_answer(Rule rule) {
  const Verdict& verdict = documented().verdict(info(rule).entry, rule);
  return verdict.kind == Verdict::Kind::kAccepts ? "accepts" : cuvmm::result_name(verdict.code);
}

void add_answer(MatrixCell& cell, const std::string& answer, const std::string& case_name) {
  for (MatrixCell::Answer& known : cell.answers) {
    if (known.text != answer) continue;
    if (std::find(known.cases.begin(), known.cases.end(), case_name) == known.cases.end())
      known.cases.push_back(case_name);
    return;
  }
  cell.answers.push_back({answer, {case_name}});
}

Matrix make_matrix(std::vector<MatrixColumn> columns, std::vector<std::string> inputs) {
  Matrix matrix;
  matrix.inputs = std::move(inputs);
  for (const RuleInfo& rule : rules()) {
    if (!rule.uncheckable && rule.kind != RuleKind::kLeak) matrix.rules.push_back(rule.rule);
  }
  for (MatrixColumn& column : columns) {
    const auto same = std::find_if(
        matrix.columns.begin(), matrix.columns.end(),
        [&](const MatrixColumn& c) { return !c.merges.empty() && c.merges == column.merges; });
    if (same == matrix.columns.end()) {
      matrix.columns.push_back(std::move(column));
    } else {
      join(*same, column);
    }
  }
  for (MatrixColumn& column : matrix.columns) {
    for (auto& [rule, cell] : column.cells) {
      std::stable_sort(cell.answers.begin(), cell.answers.end(), [](const auto& a, const auto& b) {
        return a.cases.size() > b.cases.size();
      });
      cell.status = status_of(rule, cell);
    }
  }
  return matrix;
}

const MatrixCell& cell_of(const MatrixColumn& column, Rule rule) {
  static const MatrixCell kNotRun;
  const auto found = column.cells.find(rule);
  return found == column.cells.end() ? kNotRun : found->second;
}

std::map<MatrixCell::Status, int> count(const Matrix& matrix, const MatrixColumn& column) {
  std::map<MatrixCell::Status, int> counts;
  for (Rule rule : matrix.rules) ++counts[cell_of(column, rule).status];
  return counts;
}

}  // namespace cuvmm::tools
