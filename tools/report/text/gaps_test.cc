// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/gaps.h"

#include <gmock/gmock.h>

#include "tools/report/testing_report.h"

namespace cuvmm::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json without_calls() {
  Json value = report();
  value["calls"] = Json::object();
  return value;
}

TEST(Gaps, CallsThatWereCheckedLeaveNone) {
  const MergedReport merged = merge_reports({parsed(report())});
  EXPECT_EQ(checked_calls(merged), 4u);
  EXPECT_THAT(gap_sentences(merged, {}), IsEmpty());
}

TEST(Gaps, NoProcessAndNoCallAreNothing) {
  EXPECT_THAT(gap_sentences(merge_reports({}), {}), ElementsAre(HasSubstr("no process used")));
  EXPECT_THAT(gap_sentences(merge_reports({parsed(without_calls())}), {}),
              ElementsAre(HasSubstr("nothing was checked: 1 process started a CUDA driver")));
}

TEST(Gaps, OfWhatIsLostNobodyKnows) {
  EXPECT_FALSE(nothing_checked(merge_reports({parse_process_report("", "7-a.json")})));
  ProcessReport killed = parsed(without_calls());
  killed.leaks = ProcessReport::Leaks::kUnknown;
  EXPECT_FALSE(nothing_checked(merge_reports({killed})));
}

TEST(Gaps, DriversBesideTheShimAreNamed) {
  Json one = report();
  one["escaped"] = {"/opt/libcuda.so.1"};
  Json two = report();
  two["escaped"] = {"/opt/libcuda.so.1", "/opt/other/libcuda.so"};
  EXPECT_THAT(gap_sentences(merge_reports({parsed(one), parsed(two, "/d/8-a.json")}), {}),
              ElementsAre(HasSubstr("beside the shim: /opt/libcuda.so.1, /opt/other/libcuda.so")));
}

TEST(Gaps, RuntimesThatFailedAreNamed) {
  NotEmulated missing;
  for (const char* file : {"a", "b", "c", "d", "e"}) missing.need_driver.push_back(file);
  EXPECT_THAT(gap_sentences(merge_reports({parsed(report())}), missing),
              ElementsAre(HasSubstr("in it: a, b, c, d and 1 more")));
}

TEST(Gaps, FunctionsThatTheEmulatorLacksAreNamed) {
  EXPECT_EQ(not_emulated_sentence({}), "");
  NotEmulated missing;
  missing.functions = {"cuA"};
  EXPECT_EQ(
      not_emulated_sentence(missing),
      "the emulator lacks a function that the program called, and answered NOT_SUPPORTED: cuA. "
      "cuvmm did not check how the program uses it");
  missing.functions.push_back("cuB");
  EXPECT_THAT(not_emulated_sentence(missing), HasSubstr("lacks functions that"));
  EXPECT_THAT(not_emulated_sentence(missing), HasSubstr("NOT_SUPPORTED: cuA, cuB. cuvmm did not "
                                                        "check how the program uses them"));
}

TEST(Gaps, CallsWithoutRulesAreNamedOnce) {
  Json one = report();
  one["unchecked_calls"] = {"cuCheckpointProcessLock", "cuGraphicsMapResources"};
  const MergedReport merged = merge_reports({parsed(one)});
  EXPECT_TRUE(calls_unchecked(merged, {}));
  EXPECT_THAT(
      gap_sentences(merged, {}),
      ElementsAre(HasSubstr("no rules for: cuCheckpointProcessLock, cuGraphicsMapResources")));
  NotEmulated missing;
  missing.functions = {"cuCheckpointProcessLock"};
  EXPECT_THAT(gap_sentences(merged, missing),
              ElementsAre(HasSubstr("no rules for: cuGraphicsMapResources")))
      << "the other has a sentence of its own";
}

TEST(Gaps, QuestionsThatTheEmulatorLacksAreNone) {
  const MergedReport merged = merge_reports({parsed(report())});
  NotEmulated missing;
  missing.functions = {"cuCheckpointProcessGetState", "cudaGetDriverEntryPoint",
                       "cudaProfilerStart", "cudaGraphicsResourceGetMappedPointer"};
  EXPECT_FALSE(calls_unchecked(merged, missing));
  missing.functions.push_back("cudaMallocArray");
  EXPECT_TRUE(calls_unchecked(merged, missing));
}

TEST(Gaps, SkippedLaunchesAreCounted) {
  EXPECT_EQ(skipped_sentence({}), "");
  EXPECT_THAT(skipped_sentence({.skipped_launches = 1}),
              HasSubstr("1 kernel launch was skipped, because the emulator could not run it"));
  EXPECT_THAT(skipped_sentence({.skipped_launches = 70}),
              HasSubstr("70 kernel launches were skipped"));
}

}  // namespace
}  // namespace cuvmm::tools
