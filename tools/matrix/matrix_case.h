// SPDX-License-Identifier: Apache-2.0
// One case's outcomes as an answer to a rule: what the columns of a matrix are made of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/matrix/matrix.h"

namespace cuvmm::tools {

/// The rule that a case breaks, alone, and the statement that does.
struct BrokenRule {
  Rule rule;
  std::size_t statement;
};
/// The hand-written cases that break one rule, by name.
const std::map<std::string, BrokenRule>& cases_of_one_rule();

/// What was observed, a text per statement ("CUDA_SUCCESS =0", "signal:11", "not-run: ...").
void take_case(MatrixColumn& column, const std::string& name,
               const std::vector<std::string>& outcomes);
/// The machine lacks what the case needs.
void skip_case(MatrixColumn& column, const std::string& name, const std::string& reason);

/// The same where the rule is known.
void take_answer(MatrixColumn& column, Rule rule, const std::string& outcome,
                 const std::string& name);
void skip_rule(MatrixColumn& column, Rule rule, const std::string& reason);

}  // namespace cuvmm::tools
