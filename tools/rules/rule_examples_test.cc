// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_examples.h"

#include <gtest/gtest.h>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

using conformance::Case;
using conformance::parse_cases;
namespace {

#define BREAKS "cuMemFree(0)  # CUDA_ERROR_UNKNOWN "
constexpr const char* kText =
    "case long\nbreaks stream-alive\ninit()\ninit()\n" BREAKS
    "!stream-alive\n"
    "case two\nbreaks stream-alive data-alive\n"
    "cuMemMap(0, 0, 0)  # CUDA_ERROR_UNKNOWN !stream-alive !data-alive\n"
    "case machine\nneeds devices>=2\nbreaks stream-alive\n" BREAKS
    "!stream-alive\n"
    "case short\nbreaks stream-alive\n# why\ninit()\n" BREAKS
    "!stream-alive\n"
    "case elsewhere\nneeds devices>=2\nbreaks data-mapped\n" BREAKS "!data-mapped\n";

std::vector<Case> cases() {
  conformance::ParsedCases parsed = parse_cases(kText, "test");
  EXPECT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  return parsed.cases;
}

TEST(ShortestCase, TakesTheShortestThatBreaksThisRuleAlone) {
  EXPECT_EQ(shortest_case(cases(), "stream-alive"), "init()\n" BREAKS "!stream-alive\n");
}

TEST(ShortestCase, TakesACaseThatNeedsSomethingOnlyIfThereIsNoOther) {
  EXPECT_EQ(shortest_case(cases(), "data-mapped"), BREAKS "!data-mapped\n");
}

TEST(ShortestCase, NoneForARuleWithoutCase) {
  EXPECT_EQ(shortest_case(cases(), "data-alive"), "");
  EXPECT_EQ(shortest_case({}, "stream-alive"), "");
}

TEST(FunctionsThatBreak, NamesEachFunctionOnceInOrder) {
  EXPECT_EQ(functions_that_break(cases(), "stream-alive"),
            (std::vector<std::string>{"cuMemFree", "cuMemMap"}));
}

TEST(ShortestCase, RulesOfFamiliesHaveAnExample) {
  EXPECT_NE(shortest_case(suite_cases(), "memory-free-once"), "");
  EXPECT_NE(shortest_case(suite_cases(), "multicast-bind-vacant"), "");
  std::size_t found = 0;
  for (const RuleInfo& rule : rules()) found += !shortest_case(suite_cases(), rule.id).empty();
  EXPECT_GT(found, rules().size() / 2);
}

}  // namespace
}  // namespace cuvmm::tools
