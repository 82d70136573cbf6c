// SPDX-License-Identifier: Apache-2.0
// Turns the outcomes of a case into an answer to a rule. The columns of a matrix are made of such
// answers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/matrix/matrix.h"

namespace cuvmm::tools {

/// The only rule that a case breaks, and the statement that breaks it.
struct BrokenRule {
  Rule rule;
  std::size_t statement;
};
/// The hand-written cases that break exactly one rule, by name.
const std::map<std::string, BrokenRule>& cases_of_one_rule();

/// Adds a case. `outcomes` has a text per statement ("CUDA_SUCCESS =0", "signal:11", "not-run:
/// ...").
void take_case(MatrixColumn& column, const std::string& name,
               const std::vector<std::string>& outcomes);
/// Adds a case that was skipped, because the machine lacks something. `reason` says what.
void skip_case(MatrixColumn& column, const std::string& name, const std::string& reason);

/// The same two functions for a caller that knows the rule.
void take_answer(MatrixColumn& column, Rule rule, const std::string& outcome,
                 const std::string& name);
void skip_rule(MatrixColumn& column, Rule rule, const std::string& reason);

}  // namespace cuvmm::tools
