// SPDX-License-Identifier: Apache-2.0
#include "frames/suppressions.h"

#include <gtest/gtest.h>

#include "frames/glob.h"
#include "frames/testing_frames.h"

namespace cuvmm::frames {
namespace {

TEST(Glob, MatchesWholeTexts) {
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("cuMem*-zero", "cuMemMap-offset-zero"));
  EXPECT_TRUE(glob_matches("*a*b*c*", "xxaxxbxxcxx"));
  EXPECT_TRUE(glob_matches("a?c", "abc"));
  EXPECT_FALSE(glob_matches("a?c", "ac"));
  EXPECT_FALSE(glob_matches("cuMem", "cuMemMap"));
  EXPECT_FALSE(glob_matches("*b", "abc"));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(Glob, ManyStarsStayFast) {
  EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST(Suppressions, RuleAndFunctionMustBothMatch) {
  const auto both = Suppressions::parse("rule:cuMemMap-* function:fill*\n", "f");
  EXPECT_TRUE(both.errors().empty());
  const Frame stack[] = {frame("helper()", "app"), frame("fill(int, char)", "/opt/libx.so")};
  EXPECT_TRUE(both.matches("cuMemMap-offset-zero", stack));
  EXPECT_FALSE(both.matches("cuMemUnmap-covered", stack));
  EXPECT_FALSE(both.matches("cuMemMap-offset-zero", std::span(stack, 1)));
  EXPECT_TRUE(both.needs_stack("cuMemMap-offset-zero"));
  EXPECT_FALSE(both.needs_stack("cuMemUnmap-covered"));
}

TEST(Suppressions, ThoseThatNeverMatchedAreKnown) {
  const auto some = Suppressions::parse("# why\nrule:a*\nrule:ab\nfunction:fill*\n", "f.supp");
  EXPECT_EQ(some.unused().size(), 3u);
  EXPECT_TRUE(some.matches("ab", {}));  // the first one matches
  EXPECT_EQ(some.unused(),
            (std::vector<std::string>{"f.supp:3: rule:ab", "f.supp:4: function:fill*"}));
  const Frame stack[] = {frame("fill(int)", "app")};
  EXPECT_TRUE(some.matches("c", stack));
  EXPECT_EQ(some.unused(), std::vector<std::string>{"f.supp:3: rule:ab"});
}

TEST(Suppressions, FunctionsAreNamedWithOrWithoutParametersOrByModule) {
  const Frame stack[] = {frame("ns::fill(int)", "/opt/lib/libtorch.so.2")};
  for (const char* pattern :
       {"ns::fill", "ns::fill(int)", "*fill*", "libtorch.so*", "/opt/lib/*"}) {
    const auto one = Suppressions::parse(std::string("function:") + pattern, "f");
    EXPECT_TRUE(one.matches("any", stack)) << pattern;
  }
  EXPECT_FALSE(Suppressions::parse("function:fill", "f").matches("any", stack));
}

TEST(Suppressions, ErrorsNamePlaceAndExpectationAndTheRestHolds) {
  const auto some = Suppressions::parse(
      "# comment\n"
      "\n"
      "rule:a\n"
      "  funktion:b\n"
      "rule:c rule:d\n"
      "rule:e  function: # nothing\n"
      "rule:last  # comment\r\n",
      "my.supp");
  ASSERT_EQ(some.errors().size(), 3u);
  EXPECT_EQ(some.errors()[0],
            "my.supp:4:3: expected rule:GLOB or function:GLOB, found 'funktion:b'");
  EXPECT_EQ(some.errors()[1], "my.supp:5:8: expected one 'rule:' on a line, found a second");
  EXPECT_EQ(some.errors()[2], "my.supp:6:18: expected a pattern after 'function:'");
  EXPECT_TRUE(some.matches("a", {}));
  EXPECT_TRUE(some.matches("last", {}));
  EXPECT_FALSE(some.matches("c", {}));
  EXPECT_FALSE(some.matches("e", {}));
}

TEST(Suppressions, AFileThatCannotBeReadIsAnError) {
  const auto none = Suppressions::load("/nonexistent/x.supp");
  ASSERT_EQ(none.errors().size(), 1u);
  EXPECT_NE(none.errors()[0].find("/nonexistent/x.supp:1:1: "), std::string::npos);
}

}  // namespace
}  // namespace cuvmm::frames
