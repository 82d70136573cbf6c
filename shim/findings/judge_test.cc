// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/judge.h"

#include <gtest/gtest.h>

#include <string_view>

namespace cuvmm::shim {
namespace {

// Finds rules of the catalogue by their properties, so that the tests do not depend on single lines
// of it.
const RuleInfo& rule_with(RuleKind kind, CodeBasis basis, CUresult code) {
  for (const RuleInfo& rule : rules()) {
    if (rule.kind == kind && rule.basis == basis && rule.code == code) return rule;
  }
  ADD_FAILURE() << "no such rule in the catalogue";
  return rules().front();
}

const RuleInfo& listed() {
  return rule_with(RuleKind::kError, CodeBasis::kListed, CUDA_ERROR_INVALID_VALUE);
}

Violation violation(const RuleInfo& rule, bool certain) { return {rule.rule, certain, "", {}}; }

std::size_t reported(Violations violations, CUresult result) {
  return judge(std::move(violations), {.result = result}).size();
}

TEST(Judge, CertainOnesStayWhateverTheDriverSays) {
  for (const CUresult result : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_UNKNOWN}) {
    EXPECT_EQ(reported({violation(listed(), true)}, result), 1u);
  }
}

TEST(Judge, UncertainOnesNeedARefusal) {
  EXPECT_EQ(reported({violation(listed(), false)}, CUDA_SUCCESS), 0u);
  EXPECT_EQ(reported({violation(listed(), false)}, CUDA_ERROR_INVALID_VALUE), 1u);
  EXPECT_EQ(reported({violation(listed(), false)}, CUDA_ERROR_NOT_SUPPORTED), 1u);
}

// A fabric that was lost refused cuMulticastAddDevice, and the program was told that another
// process had added its device.
TEST(Judge, TheMachinesCodesAreNoEvidenceUnlessTheRuleNamesThem) {
  const Violation once = violation(info(Rule::kMcAddUnique), false);
  for (const CUresult result :
       {CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_NOT_PERMITTED,
        CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_DEVICE_UNAVAILABLE}) {
    EXPECT_EQ(reported({once}, result), 0u);
    EXPECT_EQ(reported({violation(info(Rule::kMcAddUnique), true)}, result), 1u);
  }
  EXPECT_EQ(reported({once}, CUDA_ERROR_INVALID_VALUE), 1u);
  for (const RuleInfo& rule : rules()) {
    if (rule.code != CUDA_ERROR_NOT_PERMITTED) continue;
    EXPECT_EQ(reported({violation(rule, false)}, CUDA_ERROR_NOT_PERMITTED), 1u) << rule.id;
  }
}

// Two hosts in different IMEX domains get INVALID_HANDLE for bytes that are right.
TEST(Judge, AFabricHandleIsWrongByItsOwnCodeAlone) {
  const Violation bytes = violation(info(Rule::kImportFabricValid), false);
  EXPECT_EQ(reported({bytes}, CUDA_ERROR_INVALID_HANDLE), 0u);
  EXPECT_EQ(reported({bytes}, CUDA_ERROR_NOT_SUPPORTED), 1u);
}

TEST(Judge, OutOfMemoryExplainsItselfUnlessTheRuleSaysSo) {
  EXPECT_EQ(reported({violation(listed(), false)}, CUDA_ERROR_OUT_OF_MEMORY), 0u);
  for (const RuleInfo& rule : rules()) {
    if (rule.code != CUDA_ERROR_OUT_OF_MEMORY) continue;
    EXPECT_EQ(reported({violation(rule, false)}, CUDA_ERROR_OUT_OF_MEMORY), 1u) << rule.id;
  }
}

// The nodes of graphs answer INVALID_VALUE for a destroyed event, streams INVALID_HANDLE.
TEST(Judge, AnEndedEventExplainsTwoCodes) {
  const RuleInfo& rule = info(Rule::kEventAlive);
  EXPECT_EQ(reported({violation(rule, false)}, CUDA_ERROR_INVALID_HANDLE), 1u);
  EXPECT_EQ(reported({violation(rule, false)}, CUDA_ERROR_INVALID_VALUE), 1u);
  EXPECT_EQ(reported({violation(info(Rule::kStreamAlive), false)}, CUDA_ERROR_INVALID_VALUE), 0u);
}

// The documentation allows buffers that overlap.
TEST(Judge, WhatIsAllowedExplainsItsOwnCodeAlone) {
  const RuleInfo& rule = info(Rule::kExtBufferMapped);
  EXPECT_EQ(reported({violation(rule, false)}, CUDA_ERROR_ALREADY_MAPPED), 1u);
  EXPECT_EQ(reported({violation(rule, false)}, CUDA_ERROR_INVALID_VALUE), 0u);
}

TEST(Judge, ADocumentedOrObservedCodeMustBeTheAnswer) {
  for (const RuleInfo& rule : rules()) {
    if (rule.basis != CodeBasis::kDocumented && rule.basis != CodeBasis::kObserved) continue;
    const CUresult other =
        rule.code == CUDA_ERROR_UNKNOWN ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_UNKNOWN;
    EXPECT_EQ(reported({violation(rule, false)}, rule.code), 1u) << rule.id;
    EXPECT_EQ(reported({violation(rule, false)}, other), 0u) << rule.id;
  }
}

TEST(Judge, ACertainOneExplainsTheRefusal) {
  const auto left = judge({violation(listed(), false), violation(listed(), true)},
                          {.result = CUDA_ERROR_INVALID_VALUE});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].certain);
}

TEST(Judge, OneSuspectIsEnoughAndTheExactCodeWins) {
  const RuleInfo* other = nullptr;
  for (const RuleInfo& rule : rules()) {
    const bool forbids = rule.kind == RuleKind::kError || rule.kind == RuleKind::kUndefined;
    if (forbids && rule.basis != CodeBasis::kDocumented && rule.code != CUDA_ERROR_INVALID_VALUE) {
      other = &rule;
    }
  }
  ASSERT_NE(other, nullptr);
  const auto left = judge({violation(*other, false), violation(listed(), false)},
                          {.result = CUDA_ERROR_INVALID_VALUE});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].rule, listed().rule);
}

TEST(Judge, ACrashIsARefusal) {
  EXPECT_EQ(judge({violation(listed(), false)}, {.crashed = true}).size(), 1u);
}

TEST(Enforce, OnlyWhatIsCertainAndForbidden) {
  EXPECT_EQ(first_to_enforce({violation(listed(), false)}), nullptr);
  for (const RuleInfo& rule : rules()) {
    // An argument may go unused, and work may have been over, so enforcement keeps neither a launch
    // nor the instantiation of a graph from the driver.
    const bool forbids = (rule.kind == RuleKind::kError || rule.kind == RuleKind::kUndefined) &&
                         !std::string_view(rule.id).starts_with("launch-argument-") &&
                         rule.rule != Rule::kDataPoolOrdered &&
                         rule.rule != Rule::kGraphMemoryOrdered;
    const Violations one{violation(rule, true)};
    EXPECT_EQ(first_to_enforce(one) != nullptr, forbids) << rule.id;
    EXPECT_NE(enforced_code(one[0]), CUDA_SUCCESS) << rule.id;
  }
}

}  // namespace
}  // namespace cuvmm::shim
