// SPDX-License-Identifier: Apache-2.0
// Which of a call's violations are worth a finding, once the driver has answered.
#pragma once

#include <optional>

#include "rulebook/base/violation.h"

namespace cuvmm::shim {

/// What became of a call.
struct Answer {
  CUresult result = CUDA_SUCCESS;
  bool enforced = false;  ///< the shim answered; the driver was not asked
  bool crashed = false;   ///< the driver died in the call; `result` means nothing
};

/// A certain violation that --enforce answers instead of forwarding; null when there is none.
const Violation* first_to_enforce(const Violations& violations);

/// A certain violation that the documentation has drivers refuse; null when there is none.
const Violation* first_to_refuse(const Violations& violations);

/// The documented code of a violation, or INVALID_VALUE where the documentation names none.
CUresult enforced_code(const Violation& violation);

/// What a finding is, given what became of the call (nothing for what is found at exit): its rule's
/// kind, or an answer where the rule is a question and the program got the documented code.
RuleKind kind_of(const Violation& violation, const std::optional<Answer>& answer);

/// Certain violations stay. Of the uncertain ones the likeliest stays (the first whose code is the
/// answer, else the first), and only where the driver refused the call, no certain violation
/// explains that, and the answer could be the rule's: OUT_OF_MEMORY only where the rule says so,
/// and exactly the code that the documentation ties to the rule.
Violations judge(Violations violations, const Answer& answer);

}  // namespace cuvmm::shim
