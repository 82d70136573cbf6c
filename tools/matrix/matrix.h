// SPDX-License-Identifier: Apache-2.0
// The rule x driver table: what each driver was seen to answer to a call that breaks each rule.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

/// One driver's answer to one rule.
struct MatrixCell {
  enum class Status : std::uint8_t { kPass, kDeviation, kCrash, kNotSupported, kNotRun, kCount };
  /// One answer, and the cases that got it.
  struct Answer {
    std::string text;  ///< "CUDA_ERROR_...", "accepts", "crashes" or "hangs"
    std::vector<std::string> cases;
  };
  Status status = Status::kNotRun;
  std::vector<Answer> answers;  ///< the first is the one that most cases, or the profile, gave
  std::string reason;           ///< why there is no answer; "" else
};
/// "Pass", "Deviation", "Crash", "NotSupported", "NotRun".
const char* name(MatrixCell::Status status);

/// One driver. Cells without an entry are "not run".
struct MatrixColumn {
  std::string title;   ///< "NVIDIA H200, driver 580.159.04"
  std::string detail;  ///< CUDA version, date, number of GPUs: a phrase
  std::string merges;  ///< columns of the same non-empty text are one driver's
  std::map<Rule, MatrixCell> cells;
  /// What was observed in cases that are not about one rule: legal flows, above all. By case.
  std::map<std::string, std::vector<std::string>> flows;
};

struct Matrix {
  std::vector<Rule> rules;  ///< rows: every rule that a call can break
  std::vector<MatrixColumn> columns;
  std::vector<std::string> inputs;  ///< the files, as they were named
};

/// What the documentation promises for a call that breaks the rule: a code, or "accepts".
std::string documented_answer(Rule rule);
/// Adds one case's answer.
void add_answer(MatrixCell& cell, const std::string& answer, const std::string& case_name);
/// Rows for all rules; columns of one driver joined; statuses found.
Matrix make_matrix(std::vector<MatrixColumn> columns, std::vector<std::string> inputs);
/// How many cells of the column have each status, over all rows.
std::map<MatrixCell::Status, int> count(const Matrix& matrix, const MatrixColumn& column);
/// The cell of a column: an empty one where the column has none.
const MatrixCell& cell_of(const MatrixColumn& column, Rule rule);

/// How many rows of each status: "310 Pass, 20 Deviation".
std::string counts_text(const Matrix& matrix, const MatrixColumn& column);
/// The answers of a cell, without the prefix that all codes share.
std::string answers_text(const MatrixCell& cell);
/// Text as Markdown shows it, also in a table's cell.
std::string markdown_text(std::string_view text);
/// A link to the rule's description. `docs` is the way from the page to docs/: "" or "../".
std::string rule_link(Rule rule, std::string_view docs);
/// The rules that one driver treats otherwise than documented, and those without an answer.
std::string deviation_tables(const Matrix& matrix, const MatrixColumn& column,
                             std::string_view docs);

/// A table per area. `command` is the line that writes the page, for its header.
std::string matrix_markdown(const Matrix& matrix, const std::string& command);
/// Where documentation and drivers differ, rule by rule, with the cases that show it.
std::string deviations_markdown(const Matrix& matrix, const std::string& command);
/// One self-contained page. `note` stands above the table.
std::string matrix_html(const Matrix& matrix, const std::string& note = "");

}  // namespace cuvmm::tools
