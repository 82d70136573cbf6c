// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuvmm::shim {

namespace {

bool forbids(const Violation& violation) {
  const RuleKind kind = info(violation.rule).kind;
  return kind == RuleKind::kError || kind == RuleKind::kUndefined;
}

/// Rules about objects that unseen calls may have made or may own by now, or about uses that the
/// documentation allows: only the exact code proves a violation of them. Work that failed earlier
/// answers any call with a code of its own.
bool needs_its_code(Rule rule) {
  constexpr Rule kThese[] = {
      Rule::kFreeKnown,        Rule::kFreeOnce,           Rule::kFreeBase,
      Rule::kFreeFunction,     Rule::kRegisterOnce,       Rule::kRegisterPageable,
      Rule::kUnregisterKnown,  Rule::kUnregisterBase,     Rule::kUnregisterFunction,
      Rule::kPointerSetKnown,  Rule::kAddressRangeAccess, Rule::kExtBufferMapped,
      Rule::kImportFabricValid};
  return std::ranges::find(kThese, rule) != std::end(kThese);
}

/// Codes that tell of the machine, its daemons or the user's rights, and of no argument unless a
/// rule names them.
bool about_machine(CUresult result) {
  constexpr CUresult kThese[] = {CUDA_ERROR_NOT_INITIALIZED,      CUDA_ERROR_DEINITIALIZED,
                                 CUDA_ERROR_DEVICE_UNAVAILABLE,   CUDA_ERROR_OPERATING_SYSTEM,
                                 CUDA_ERROR_ILLEGAL_STATE,        CUDA_ERROR_NOT_PERMITTED,
                                 CUDA_ERROR_SYSTEM_NOT_READY,     CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                                 CUDA_ERROR_MPS_CONNECTION_FAILED};
  return std::ranges::find(kThese, result) != std::end(kThese);
}

/// Rules about the handle of an object that has ended: a driver's code depends on the part of the
/// object that it reads first. An H200 answers for a stream that its context was destroyed.
bool about_handle(Rule rule) {
  constexpr Rule kThese[] = {Rule::kStreamAlive, Rule::kEventAlive, Rule::kContextAlive,
                             Rule::kCodeAlive, Rule::kGraphAlive};
  return std::ranges::find(kThese, rule) != std::end(kThese);
}

/// Drivers take memory away even if work uses it: the call itself succeeds.
bool about_work(const Violation& violation) {
  return !violation.objects.empty() && violation.objects.front().kind == ObjectRef::Kind::kWork;
}

/// An argument may go unused, and work may be over: no reason to keep a call from the driver.
bool may_be_harmless(const Violation& violation) {
  constexpr Rule kThese[] = {Rule::kLaunchMapped, Rule::kLaunchAlive, Rule::kLaunchAccess,
                             Rule::kDataPoolOrdered, Rule::kGraphMemoryOrdered};
  return std::ranges::find(kThese, violation.rule) != std::end(kThese) ||
         (about_work(violation) && info(violation.rule).code == CUDA_SUCCESS);
}

bool may_explain(const Violation& violation, const Answer& answer) {
  const RuleInfo& rule = info(violation.rule);
  if (answer.crashed) return forbids(violation);
  if (answer.result == CUDA_SUCCESS) return false;
  if (answer.result == rule.code) return true;
  // A driver answers so for the event of a graph's node.
  if (violation.rule == Rule::kEventAlive && answer.result == CUDA_ERROR_INVALID_VALUE) return true;
  if (about_handle(violation.rule)) {
    return answer.result == CUDA_ERROR_INVALID_HANDLE ||
           answer.result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  if (needs_its_code(violation.rule)) return false;
  if (answer.result == CUDA_ERROR_OUT_OF_MEMORY || about_machine(answer.result)) return false;
  // These codes are the rule's own; a list of the entry point's codes leaves the others open.
  return rule.basis != CodeBasis::kDocumented && rule.basis != CodeBasis::kObserved;
}

}  // namespace

const Violation* first_to_enforce(const Violations& violations) {
  const auto found = std::find_if(violations.begin(), violations.end(), [](const Violation& v) {
    return v.certain && forbids(v) && !may_be_harmless(v);
  });
  return found == violations.end() ? nullptr : &*found;
}

const Violation* first_to_refuse(const Violations& violations) {
  const auto found = std::find_if(violations.begin(), violations.end(), [](const Violation& v) {
    return v.certain && info(v.rule).kind == RuleKind::kError && !about_work(v);
  });
  return found == violations.end() ? nullptr : &*found;
}

CUresult enforced_code(const Violation& violation) {
  const CUresult code = info(violation.rule).code;
  return code == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : code;
}

RuleKind kind_of(const Violation& violation, const std::optional<Answer>& answer) {
  const RuleInfo& rule = info(violation.rule);
  const bool answered =
      answer && !answer->crashed && answer->result != CUDA_SUCCESS && answer->result == rule.code;
  return rule.question && answered ? RuleKind::kAnswer : rule.kind;
}

Violations judge(Violations violations, const Answer& answer) {
  Violations judged;
  const Violation* likeliest = nullptr;
  const bool explained = std::ranges::any_of(
      violations, [](const Violation& v) { return v.certain && forbids(v) && !about_work(v); });
  for (Violation& violation : violations) {
    if (violation.certain) continue;
    if (explained || answer.enforced || !may_explain(violation, answer)) continue;
    const bool exact = info(violation.rule).code == answer.result;
    const bool better =
        exact && info(likeliest ? likeliest->rule : violation.rule).code != answer.result;
    if (!likeliest || better) likeliest = &violation;
  }
  // A refused call has taken nothing away.
  const bool refused = !answer.crashed && !answer.enforced && answer.result != CUDA_SUCCESS;
  for (Violation& violation : violations) {
    if (refused && about_work(violation)) continue;
    if (violation.certain || &violation == likeliest) judged.push_back(std::move(violation));
  }
  return judged;
}

}  // namespace cuvmm::shim
