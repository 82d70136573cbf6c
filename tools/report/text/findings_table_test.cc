// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/findings_table.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

Json native(const char* function) {
  return {{"function", function}, {"module", "/bin/app"}, {"offset", 16}};
}
Json python(const char* function, int line) {
  return {{"function", function}, {"module", ""}, {"offset", 0},
          {"file", "/home/a.py"}, {"line", line}, {"language", "python"}};
}
Json found(const char* rule, const char* kind, int count, Json::array_t stack) {
  return {{"rule", rule}, {"kind", kind}, {"count", count}, {"stack", std::move(stack)}};
}

TEST(FindingsTable, OneLineForARuleAtAPlaceTheMostFirst) {
  const Json ffi = {{"function", "ffi_call"}, {"module", "/lib/libffi.so.8"}, {"offset", 1}};
  const Json findings = Json::array({
      found("cuA", "error", 2, {native("f"), native("main")}),
      found("cuA", "error", 9, {ffi, python("fill", 7), python("<module>", 9)}),
      found("cuLonger", "leak", 30, {}),
      found("cuA", "error", 3, {native("f"), native("other")}),
      found("cuAdvice", "advice", 99, {native("f")}),
  });
  EXPECT_EQ(findings_table(findings),
            "cuvmm: findings by rule and place:\n"
            "    30  cuLonger  -\n"
            "     9  cuA       fill at a.py:7\n"
            "     5  cuA       f (app+0x10)\n");
}

TEST(FindingsTable, OnePlaceNeedsNoTable) {
  EXPECT_EQ(findings_table(Json::array()), "");
  EXPECT_EQ(findings_table(Json::array({found("cuA", "error", 2, {native("f")}),
                                        found("cuA", "error", 2, {native("f")})})),
            "");
}

TEST(FindingsTable, ManyPlacesAreCutAndNamesAreNoCommands) {
  Json findings = Json::array();
  for (int i = 0; i < 25; ++i) {
    findings.push_back(
        found("cuA", "error", 100 - i, {native(("\x1b[2J" + std::to_string(i)).c_str())}));
  }
  const std::string text = findings_table(findings);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("    100  cuA  ?[2J0 (app+0x10)\n"), std::string::npos);
  EXPECT_NE(text.find("and 5 more places (--report has all)\n"), std::string::npos);
}

}  // namespace
}  // namespace cuvmm::tools
