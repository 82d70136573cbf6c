// SPDX-License-Identifier: Apache-2.0
#include "tools/report/summary.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tools/report/report_merge.h"
#include "tools/report/testing_report.h"

namespace cuvmm::tools {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(SummaryText, SkippedLaunchesAreNoSuccess) {
  const MergedReport merged = merge_reports({});
  EXPECT_THAT(summary_text(merged, {}), Not(HasSubstr("skipped")));
  EXPECT_THAT(summary_text(merged, {}, {.skipped_launches = 1}),
              HasSubstr("cuvmm: 1 kernel launch was skipped, because"));
}

TEST(SummaryText, CountsAndTheNextCommand) {
  const MergedReport merged =
      merge_reports({parsed(report(Json::array({finding("cuMemMap-bounds", "error", 1)})))});
  const std::string text = summary_text(merged, {"r.json"});
  EXPECT_THAT(
      text, HasSubstr("cuvmm: 1 error, 0 undefined, 0 leaks in 4 calls of 1 process (emulator)\n"));
  EXPECT_THAT(text, HasSubstr("cuvmm: report in r.json\n"));
  EXPECT_THAT(text, Not(HasSubstr("cuvmm explain")));  // the only finding ends with it
  const MergedReport two = merge_reports({parsed(report(Json::array(
      {finding("cuMemMap-bounds", "error", 1), finding("cuMemMap-vacant", "error", 1)})))});
  EXPECT_THAT(summary_text(two, {}), HasSubstr("cuvmm explain cuMemMap-bounds\n"));
}

// Calls about streams and captures are not counted, and findings may be about them.
TEST(SummaryText, ClaimsNoNumberOfCallsWhereNoneIsKnown) {
  Json one = report(Json::array({finding("stream-capture-wait", "error", 1)}));
  one["calls"] = Json::object();
  EXPECT_THAT(summary_text(merge_reports({parsed(one)}), {}),
              HasSubstr("cuvmm: 1 error, 0 undefined, 0 leaks in 1 process (emulator)\n"));
}

TEST(SummaryText, ShowsFewNotesAndNoCommandsForATerminal) {
  const std::string text =
      summary_text(merge_reports({}, std::vector<std::string>(50, "a\033[31m\nb")), {});
  EXPECT_THAT(text, AllOf(HasSubstr("cuvmm: a?[31m?b\n"), HasSubstr("and 30 more notes")));
}

TEST(SummaryText, ALostReportIsNotNothing) {
  EXPECT_THAT(
      summary_text(merge_reports({parse_process_report("", "7-a.json")}), {}),
      AllOf(HasSubstr("no process's report could be read"), Not(HasSubstr("nothing was checked"))));
}

TEST(SummaryText, CountsWhatIsInUseOfAllProcessesInOneLine) {
  Json one = report(), other = report();
  const auto sum = [](const char* what, std::uint64_t count, std::uint64_t bytes) {
    return Json{{"what", what}, {"count", count}, {"bytes", bytes}};
  };
  one["in_use"] = {sum("stream", 1, 0), sum("piece of cuMemAlloc", 3, 1 << 20)};
  other["in_use"] = {sum("piece of cuMemAlloc", 1, 1 << 20), sum("library", 2, 0),
                     sum("array", 2, 0)};
  other["ended_with_context"] = Json::array({sum("piece of managed memory", 1, 4096)});
  const auto text = [&] { return summary_text(merge_reports({parsed(one), parsed(other)}), {}); };
  const std::string wanted =
      "cuvmm: still in use at the end: 4 pieces of cuMemAlloc (2 MiB), 2 arrays, 2 libraries, "
      "1 stream; freed only by the end of its context: 1 piece of managed memory (4 KiB)";
  EXPECT_THAT(text(), HasSubstr(wanted + "; --leak-check=full lists them\n"));
  one["in_use_listed"] = true;
  EXPECT_THAT(text(), HasSubstr(wanted + "\n"));
  one["in_use"] = Json::array({{{"what", 7}}});  // a process may write values of wrong types
  EXPECT_THAT(text(), HasSubstr("in use at the end: 1 piece of cuMemAlloc (1 MiB)"));
}

TEST(SummaryText, NamesThePlaceThatMadeManyOfOneKind) {
  Json one = report(), other = report();
  const auto made = [](const char* what, int count, const char* place, int there) {
    return Json{
        {"what", what}, {"count", count}, {"bytes", 0}, {"made_at", place}, {"made_there", there}};
  };
  one["in_use"] = {made("event", 10, "f() at a.cc:1", 9), made("stream", 9, "f() at a.cc:1", 9)};
  other["in_use"] = {made("event", 8, "g() at a.cc:2", 8), made("stream", 11, "h() at a.cc:3", 11),
                     made("context", 2, "k() at a.cc:4", 2)};
  const std::string text = summary_text(merge_reports({parsed(one), parsed(other)}), {});
  EXPECT_THAT(text, HasSubstr("18 events, "
                              "20 streams, 11 of them made in h() at a.cc:3 without a "
                              "cuStreamDestroy"));
  EXPECT_THAT(text, HasSubstr("2 contexts, all made in k() at a.cc:4 without a cuCtxDestroy"));
  other["in_use"] = Json::array({made("event", 8, "f() at a.cc:1", 8)});
  EXPECT_THAT(summary_text(merge_reports({parsed(one), parsed(other)}), {}),
              HasSubstr("18 events, 17 of them made in f() at a.cc:1 without a cuEventDestroy"));
  other["in_use"][0]["made_at"] = 7;  // a process may write values of wrong types
  EXPECT_THAT(summary_text(merge_reports({parsed(one), parsed(other)}), {}),
              HasSubstr("10 events, 9 of them made in f() at a.cc:1"));
}

TEST(SummaryText, SaysWhenNothingWasChecked) {
  EXPECT_THAT(summary_text(merge_reports({}), {"r.json"}),
              AllOf(HasSubstr("r.json"), EndsWith("through cuvmm\n"), Not(HasSubstr("0 errors"))));
  EXPECT_THAT(summary_text(merge_reports({parsed(report())}), {}),
              AllOf(HasSubstr("0 errors"), Not(HasSubstr("explain"))));
}

}  // namespace
}  // namespace cuvmm::tools
