// SPDX-License-Identifier: Apache-2.0
// Decides which of a call's violations become findings, once the driver has answered.
#pragma once

#include <optional>

#include "rulebook/base/violation.h"

namespace cuvmm::shim {

/// The result of a call.
struct Answer {
  CUresult result = CUDA_SUCCESS;
  bool enforced = false;  ///< the shim answered the call; the driver did not see it
  bool crashed = false;   ///< the driver died in the call; `result` has no meaning
};

/// A certain violation that --enforce answers instead of forwarding the call; null if there is
/// none.
const Violation* first_to_enforce(const Violations& violations);

/// A certain violation that drivers refuse by the documentation; null if there is none.
const Violation* first_to_refuse(const Violations& violations);

/// The documented code of a violation, or INVALID_VALUE if the documentation names none.
CUresult enforced_code(const Violation& violation);

/// The kind of a finding, given the call's answer (nullopt at exit): its rule's kind, or an answer
/// if the rule is a question and the program got the documented code.
RuleKind kind_of(const Violation& violation, const std::optional<Answer>& answer);

/// Keeps certain violations. Keeps only the likeliest uncertain violation (the first whose code is
/// the answer, else the first), and only if the driver refused the call, no certain violation
/// explains that, and the answer could be the rule's: OUT_OF_MEMORY only if the rule names it, and
/// exactly the code that the documentation ties to the rule.
Violations judge(Violations violations, const Answer& answer);

}  // namespace cuvmm::shim
