// SPDX-License-Identifier: Apache-2.0
#include "tools/base/openmetrics.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

TEST(OpenMetrics, AFamilyHasItsHelpItsTypeAndItsSamples) {
  Metrics out;
  out.gauge("held_bytes", "Bytes.");
  out.sample({}, 3);
  out.sample({{"pid", "7"}, {"state", "mapped"}}, "0.5");
  EXPECT_EQ(out.text(),
            "# HELP held_bytes Bytes.\n# TYPE held_bytes gauge\nheld_bytes 3\n"
            "held_bytes{pid=\"7\",state=\"mapped\"} 0.5\n# EOF\n");
}

TEST(OpenMetrics, LabelsAreEscaped) {
  Metrics out;
  out.gauge("a", "b");
  out.sample({{"program", "a\"b\\c\nd\tf"}}, 1);
  EXPECT_NE(out.text().find(R"({program="a\"b\\c\nd?f"} 1)"), std::string::npos) << out.text();
}

}  // namespace
}  // namespace cuvmm::tools
