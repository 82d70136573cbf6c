// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line/help_formatter.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

TEST(HelpText, IsFilledBehindItsIndent) {
  EXPECT_EQ(filled("one two three", 0, 2, 9), "one two\n  three");
  EXPECT_EQ(filled("one two three", 6, 2, 9), "one\n  two\n  three");
  EXPECT_EQ(filled("", 0, 2, 9), "");
}

TEST(HelpText, WordsThatAreLongerThanALineStayWhole) {
  EXPECT_EQ(filled("a averyverylongword b", 0, 1, 8), "a\n averyverylongword\n b");
}

TEST(HelpText, ExamplesBeginAParagraphOfTheirOwn) {
  EXPECT_EQ(filled_footer("Exits with 1 for a fail.\nExamples:\n  cuvmm a\n", 60),
            "Exits with 1 for a fail.\n\nExamples:\n  cuvmm a\n");
}

TEST(HelpText, ExamplesKeepTheirLines) {
  EXPECT_EQ(
      filled_footer("Examples:\n  cuvmm a   first\n  cuvmm b\nSome prose\nthat goes on.\n", 20),
      "Examples:\n  cuvmm a   first\n  cuvmm b\nSome prose that goes\non.\n");
}

TEST(HelpText, RemarksThatGoOnBelowAreOneRemark) {
  constexpr const char* kFooter = "  cuvmm a   first, and\n            more of it\n  cuvmm b\n";
  EXPECT_EQ(filled_footer(kFooter, 60), "  cuvmm a   first, and more of it\n  cuvmm b\n");
  EXPECT_EQ(filled_footer(kFooter, 25),
            "  cuvmm a\n      first, and more of\n      it\n  cuvmm b\n");
}

TEST(HelpText, RemarksGoBelowWhereThereIsNoRoom) {
  EXPECT_EQ(filled_footer("Examples:\n  cuvmm run -- ./app   checks a program\n", 30),
            "Examples:\n  cuvmm run -- ./app\n      checks a program\n");
  EXPECT_EQ(filled_footer("  cuvmm --a-long-command-line\n", 12),
            "  cuvmm --a-long-command-line\n");
}

}  // namespace
}  // namespace cuvmm::tools
