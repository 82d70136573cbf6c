// SPDX-License-Identifier: Apache-2.0
// The table of rules and drivers: each driver's observed answer to a call that breaks each rule.
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
  std::vector<Answer> answers;  ///< first the answer of the profile, or of most cases
  std::string reason;           ///< the reason why there is no answer; "" if there is one
};
/// "Pass", "Deviation", "Crash", "NotSupported", "NotRun".
const char* name(MatrixCell::Status status);

/// One driver. Cells without an entry are "not run".
struct MatrixColumn {
  std::string title;   ///< "NVIDIA H200, driver 580.159.04"
  std::string detail;  ///< CUDA version, date, number of GPUs: a phrase
  std::string merges;  ///< columns with equal, non-empty texts belong to one driver
  std::map<Rule, MatrixCell> cells;
  /// The observations of cases that are not about one rule (mostly legal flows), by case.
  std::map<std::string, std::vector<std::string>> flows;
};

struct Matrix {
  std::vector<Rule> rules;  ///< rows: every rule that a call can break
  std::vector<MatrixColumn> columns;
  std::vector<std::string> inputs;  ///< the files, as the user named them
};

/// The documented answer to a call that breaks the rule: a code, or "accepts".
std::string documented_answer(Rule rule);
/// Adds one case's answer.
void add_answer(MatrixCell& cell, const std::string& answer, const std::string& case_name);
/// Makes a matrix with rows for all rules. Joins columns of one driver, and sets the statuses.
Matrix make_matrix(std::vector<MatrixColumn> columns, std::vector<std::string> inputs);
/// The number of cells of the column with each status, over all rows.
std::map<MatrixCell::Status, int> count(const Matrix& matrix, const MatrixColumn& column);
/// The cell of a column for the rule; an empty cell if the column has none.
const MatrixCell& cell_of(const MatrixColumn& column, Rule rule);

/// The numbers of rows by status: "310 Pass, 20 Deviation".
std::string counts_text(const Matrix& matrix, const MatrixColumn& column);
/// The answers of a cell, without the prefix that all codes share.
std::string answers_text(const MatrixCell& cell);
/// Escapes text for Markdown, also for a table's cell.
std::string markdown_text(std::string_view text);
/// A link to the rule's description. `docs`: relative path from the page to docs/, "" or "../".
std::string rule_link(Rule rule, std::string_view docs);
/// Tables of the rules that the driver treats otherwise than documented, and of rules without an
/// answer.
std::string deviation_tables(const Matrix& matrix, const MatrixColumn& column,
                             std::string_view docs);

/// A page with a table per area. `command`: the command line that writes the page, for its header.
std::string matrix_markdown(const Matrix& matrix, const std::string& command);
/// A page of the differences between documentation and drivers, by rule, with the cases that show
/// them.
std::string deviations_markdown(const Matrix& matrix, const std::string& command);
/// One self-contained page. `note` stands above the table.
std::string matrix_html(const Matrix& matrix, const std::string& note = "");

}  // namespace cuvmm::tools
