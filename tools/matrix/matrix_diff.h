// SPDX-License-Identifier: Apache-2.0
// The differences between two drivers, which `cuvmm matrix --diff A B` shows.
#pragma once

#include <string>
#include <vector>

#include "tools/matrix/matrix.h"

namespace cuvmm::tools {

/// A legal flow, and the first of its calls to which the two drivers give different answers.
struct FlowDifference {
  std::string name;
  std::size_t statement;  ///< from 1
  std::string first, second;
};

struct MatrixDiff {
  Matrix table;                               ///< both columns; only rows with different answers
  std::size_t same = 0;                       ///< rules with equal answers
  std::vector<Rule> only_first, only_second;  ///< rules for which only that column has an answer
  std::vector<FlowDifference> flows;
  std::size_t same_flows = 0;

  bool empty() const { return table.rules.empty() && flows.empty(); }
};

/// Compares the columns with the indices `first` and `second`.
MatrixDiff difference(const Matrix& matrix, std::size_t first, std::size_t second);

/// "3 rules and 1 legal flow are answered otherwise; 390 and 210 alike."
std::string diff_sentence(const MatrixDiff& diff);
/// The tables of rules and of flows, without a heading. `docs`: as for rule_link().
std::string diff_tables(const MatrixDiff& diff, std::string_view docs);
/// The whole page.
std::string diff_markdown(const MatrixDiff& diff, const std::string& command);

}  // namespace cuvmm::tools
