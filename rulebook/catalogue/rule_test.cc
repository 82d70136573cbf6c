// SPDX-License-Identifier: Apache-2.0
#include "rulebook/catalogue/rule.h"

#include <gmock/gmock.h>

#include <ostream>
#include <string>

namespace cuvmm {

// Names the rule in test names. GoogleTest would print its bytes.
void PrintTo(const RuleInfo& rule, std::ostream* out) { *out << rule.id; }

namespace {

class EachRule : public ::testing::TestWithParam<RuleInfo> {};

TEST_P(EachRule, IsCompleteAndConsistent) {
  const RuleInfo& rule = GetParam();
  EXPECT_EQ(find_rule(rule.id), rule.rule);
  EXPECT_EQ(&info(rule.rule), &rules()[static_cast<std::size_t>(rule.rule)]);
  for (const char* text : {rule.requirement, rule.source, rule.fix}) EXPECT_STRNE(text, "");
  // The marks that `./dev rule` leaves for the author to fill in.
  for (const char* text : {rule.parameter, rule.requirement, rule.source, rule.fix}) {
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("TODO")));
  }
  EXPECT_EQ(std::string(rule.requirement).back(), '.');
  EXPECT_EQ(std::string(rule.fix).back(), '.');
  EXPECT_GE(rule.since, 4010);
  // The id of a rule about one entry point begins with the entry point's name.
  if (rule.entry != EntryPoint::kCount) {
    EXPECT_EQ(std::string(rule.id).rfind(std::string(name(rule.entry)) + "-", 0), 0u) << rule.id;
  }
  if (rule.kind == RuleKind::kLeak) {
    EXPECT_EQ(rule.code, CUDA_SUCCESS);
  }
  if (rule.kind == RuleKind::kError) {
    EXPECT_NE(rule.code, CUDA_SUCCESS);
  }
  EXPECT_NE(rule.kind, RuleKind::kAnswer) << "a kind of findings";
  // The code distinguishes an answer from no answer.
  if (rule.question) {
    EXPECT_NE(rule.code, CUDA_SUCCESS);
    EXPECT_TRUE(rule.kind == RuleKind::kError || rule.kind == RuleKind::kAdvice);
  }
  EXPECT_EQ(rule.basis == CodeBasis::kNone && rule.code != CUDA_SUCCESS && !rule.uncheckable,
            false);
  EXPECT_THAT(rule_url(rule.rule), ::testing::EndsWith(std::string("#") + rule.id));
}

INSTANTIATE_TEST_SUITE_P(All, EachRule, ::testing::ValuesIn(rules().begin(), rules().end()),
                         [](const auto& test) {
                           std::string id = test.param.id;
                           for (char& c : id) c = c == '-' ? '_' : c;
                           return id;
                         });

TEST(FindRule, KnowsOnlyWholeIds) {
  EXPECT_FALSE(find_rule("cuMemMap-offset"));
  EXPECT_FALSE(find_rule(""));
}

TEST(AnswerText, SaysWhetherADocumentNamesTheCode) {
  const auto text = [](Rule rule) { return answer_text(info(rule), "CUDA_ERROR_UNKNOWN", false); };
  EXPECT_EQ(text(Rule::kPoolTrimPoolValid),
            "the driver answered CUDA_ERROR_UNKNOWN; documented: CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(text(Rule::kPoolTrimImported),
            "the driver answered CUDA_ERROR_UNKNOWN; recorded drivers answer: "
            "CUDA_ERROR_INVALID_VALUE");
}

}  // namespace
}  // namespace cuvmm
