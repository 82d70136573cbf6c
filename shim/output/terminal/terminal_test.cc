// SPDX-License-Identifier: Apache-2.0
#include "shim/output/terminal/terminal.h"

#include <gtest/gtest.h>

namespace cuvmm::shim {
namespace {

TEST(Terminal, PlainTextStaysAsItIs) {
  const std::string text =
      "cuvmm: error: cuMemMap: offset is 2 MiB, not 0 [cuMemMap-offset-zero]\n";
  EXPECT_EQ(styled(text, {}), text);
}

TEST(Terminal, KindRuleStackAndFixHaveColors) {
  EXPECT_EQ(
      styled("cuvmm: error: cuMemMap: not 0 [cuMemMap-offset-zero]\n", {true, 0}),
      "\x1b[1;31mcuvmm: error:\x1b[0m cuMemMap: not 0 \x1b[1m[cuMemMap-offset-zero]\x1b[0m\n");
  EXPECT_EQ(styled("      #0 f (app+0x1)\n      #1 g at a.py:1 (Python)\n", {true, 0}),
            "\x1b[2m      #0 f (app+0x1)\x1b[0m\n      #1 g at a.py:1 (Python)\n");
  EXPECT_EQ(styled("    fix: Pass 0.\n", {true, 0}), "    \x1b[32mfix:\x1b[0m Pass 0.\n");
}

TEST(Terminal, LongLinesAreBrokenAtBlanksAndGoOnBelow) {
  EXPECT_EQ(styled("    rule: one two three four five six seven eight nine\nshort\n", {false, 40}),
            "    rule: one two three four five six\n      seven eight nine\nshort\n");
  // A path stays whole for copying; a character of several bytes is one column.
  EXPECT_EQ(styled("x /a/path/that/is/longer/than/the/forty/columns/of/it y", {false, 40}),
            "x\n  /a/path/that/is/longer/than/the/forty/columns/of/it\n  y");
  const std::string umlauts = "äöüäöüäöüäöüäöüäöüäöü äöüäöüäöüäöüäöü";
  EXPECT_EQ(styled(umlauts, {false, 40}), umlauts);
}

}  // namespace
}  // namespace cuvmm::shim
