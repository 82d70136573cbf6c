// SPDX-License-Identifier: Apache-2.0
#include "shim/session/judge.h"

#include <algorithm>
#include <utility>

namespace cuvmm::shim {

namespace {

bool forbids(const Violation& violation) {
  const RuleKind kind = info(violation.rule).kind;
  return kind == RuleKind::kError || kind == RuleKind::kUndefined;
}

bool may_explain(const Violation& violation, const Answer& answer) {
  const RuleInfo& rule = info(violation.rule);
  if (answer.crashed) return forbids(violation);
  if (answer.result == CUDA_SUCCESS) return false;
  if (answer.result == rule.code) return true;
  if (answer.result == CUDA_ERROR_OUT_OF_MEMORY) return false;
  // NOT_INITIALIZED and DEINITIALIZED say nothing of the arguments.
  if (answer.result == CUDA_ERROR_NOT_INITIALIZED || answer.result == CUDA_ERROR_DEINITIALIZED) {
    return false;
  }
  return rule.basis != CodeBasis::kDocumented;
}

}  // namespace

const Violation* first_to_enforce(const Violations& violations) {
  const auto found = std::find_if(violations.begin(), violations.end(),
                                  [](const Violation& v) { return v.certain && forbids(v); });
  return found == violations.end() ? nullptr : &*found;
}

const Violation* first_to_refuse(const Violations& violations) {
  const auto found = std::find_if(violations.begin(), violations.end(), [](const Violation& v) {
    return v.certain && info(v.rule).kind == RuleKind::kError;
  });
  return found == violations.end() ? nullptr : &*found;
}

CUresult enforced_code(const Violation& violation) {
  const CUresult code = info(violation.rule).code;
  return code == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : code;
}

RuleKind kind_of(const Violation& violation, const std::optional<Answer>& answer) {
  const RuleInfo& rule = info(violation.rule);
  const bool told =
      answer && !answer->crashed && answer->result != CUDA_SUCCESS && answer->result == rule.code;
  return rule.question && told ? RuleKind::kAnswer : rule.kind;
}

Violations judge(Violations violations, const Answer& answer) {
  Violations kept;
  const Violation* likeliest = nullptr;
  const bool explained =
      std::ranges::any_of(violations, [](const Violation& v) { return v.certain && forbids(v); });
  for (Violation& violation : violations) {
    if (violation.certain) continue;
    if (explained || answer.enforced || !may_explain(violation, answer)) continue;
    const bool exact = info(violation.rule).code == answer.result;
    const bool better =
        exact && info(likeliest ? likeliest->rule : violation.rule).code != answer.result;
    if (!likeliest || better) likeliest = &violation;
  }
  for (Violation& violation : violations) {
    if (violation.certain || &violation == likeliest) kept.push_back(std::move(violation));
  }
  return kept;
}

}  // namespace cuvmm::shim
