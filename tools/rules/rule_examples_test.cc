// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_examples.h"

#include <gtest/gtest.h>

#include "program/program.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

using program::parse_program;
using program::ParsedProgram;
namespace {

constexpr const char* kText[] = {
    "# A file.\n"
    "case long\nbreaks a\ninit()\nx()\ny()  # CUDA_SUCCESS !a\n\n"
    "case two\nbreaks a b\ny()  # !a\n\n"
    "case machine\nneeds devices>=2\nbreaks a\ny()  # !a\n",
    "case short\nbreaks a\n# why\ninit()\ny()  # !a\n",
};

TEST(ShortestCase, TakesTheShortestThatBreaksThisRuleAlone) {
  EXPECT_EQ(shortest_case(kText, "a"), "init()\ny()  # !a\n");
}

TEST(ShortestCase, NoneForARuleWithoutCase) {
  EXPECT_EQ(shortest_case(kText, "b"), "");
  EXPECT_EQ(shortest_case({}, "a"), "");
}

TEST(ShortestCase, TheRecordedOnesAreProgramsThatNameTheirRule) {
  std::size_t found = 0;
  for (const RuleInfo& rule : rules()) {
    const std::string text = shortest_case(kCaseTexts, rule.id);
    if (text.empty()) continue;
    ++found;
    const ParsedProgram parsed = parse_program(text);
    EXPECT_TRUE(parsed.errors.empty()) << rule.id << "\n" << text;
  }
  EXPECT_GT(found, 40u);
}

}  // namespace
}  // namespace cuvmm::tools
