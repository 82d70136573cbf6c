// SPDX-License-Identifier: Apache-2.0
#include "tools/report/ipc_order.h"

#include <gmock/gmock.h>

#include "tools/report/report_merge.h"

namespace cuvmm::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Json use(const char* role, std::uint64_t from, std::uint64_t until, std::uint64_t ended_by = 9,
         const char* handle = "00000000000000ab") {
  return {{"role", role}, {"handle", handle},          {"call", 4u},
          {"from", from}, {"ended_by_call", ended_by}, {"until", until}};
}

ProcessReport report(std::int64_t pid, Json ipc) {
  ProcessReport one;
  one.pid = pid;
  one.value = {{"schema", 1}, {"findings", Json::array()}, {"ipc", std::move(ipc)}};
  return one;
}

std::vector<Json> judged(const Json& exporter, const Json& importer) {
  return ipc_order_findings(
             {report(1, Json::array({exporter})), report(2, Json::array({importer}))})
      .findings;
}

TEST(IpcOrder, AFreeWhileAnotherHasItOpenIsFound) {
  const auto found = judged(use("export", 10, 50), use("open", 20, 2060, 7));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["rule"], "cuIpcGetMemHandle-freed-after-close");
  EXPECT_EQ(found[0]["pid"], 1);
  EXPECT_EQ(found[0]["call_index"], 9u);
  EXPECT_THAT(found[0]["message"].get<std::string>(), HasSubstr("closed it 2 us later"));
}

TEST(IpcOrder, AFreeOfAPoolsMemoryWhileAnotherHasItImportedIsFound) {
  Json exporter = use("export", 10, 50), importer = use("open", 20, 2060, 7);
  exporter["pool"] = importer["pool"] = true;
  const auto found = judged(exporter, importer);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["rule"], "cuMemPoolExportPointer-freed-after-import");
  EXPECT_EQ(found[0]["call"], "cuMemFreeAsync");
  EXPECT_THAT(found[0]["message"].get<std::string>(), HasSubstr("freed it 2 us later"));
  importer["until"] = 40u;  // the importer freed it first
  EXPECT_THAT(judged(exporter, importer), IsEmpty());
}

TEST(IpcOrder, AnImportOfMemoryThatTheExporterHasFreedIsFound) {
  Json exporter = use("export", 10, 50), importer = use("open", 2070, 3000, 7);
  exporter["pool"] = importer["pool"] = true;
  importer["began"] = 2050u;
  const auto found = judged(exporter, importer);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["rule"], "cuMemPoolImportPointer-memory-alive");
  EXPECT_EQ(found[0]["pid"], 2);
  EXPECT_EQ(found[0]["call_index"], 4u);
  EXPECT_THAT(found[0]["message"].get<std::string>(),
              HasSubstr("process 1 had freed this memory of its pool by its call 9, 2 us before"));
  // The free may have come while the import was under way.
  importer["began"] = 49u;
  EXPECT_THAT(judged(exporter, importer), IsEmpty());
  importer.erase("began");
  EXPECT_THAT(judged(exporter, importer), IsEmpty());
}

TEST(IpcOrder, AnImportOfMemoryThatWasExportedAgainIsNot) {
  Json first = use("export", 10, 50), second = use("export", 60, 0), importer = use("open", 80, 90);
  for (Json* const one : {&first, &second, &importer}) (*one)["pool"] = true;
  importer["began"] = 70u;
  const auto found = [&](const Json& exports) {
    return ipc_order_findings({report(1, exports), report(2, Json::array({importer}))}).findings;
  };
  EXPECT_THAT(found(Json::array({first, second})), IsEmpty());
  EXPECT_THAT(found(Json::array({first})), SizeIs(1));
}

TEST(IpcOrder, NamesTheCallsOfBothProcesses) {
  Json freed = use("export", 10, 50), opened = use("open", 20, 2060, 7);
  freed["pointer"] = "0x1000";
  freed["ended_stack"] = 3u;
  opened["pointer"] = "0x2000";
  opened["stack"] = 3u;
  opened["ended_stack"] = 5u;
  const auto stack = [](const char* function) {
    return Json::array({{{"function", function}, {"module", "app"}, {"offset", 1u}}});
  };
  ProcessReport exporter = report(1, Json::array({freed})),
                importer = report(2, Json::array({opened}));
  exporter.value["stacks"] = {{"3", stack("give")}};
  importer.value["stacks"] = {{"3", stack("open_it")}};  // stack 5 is missing on purpose
  const auto found = ipc_order_findings({exporter, importer}).findings;
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["arguments"], (Json{{"dptr", "0x1000"}}));
  EXPECT_EQ(found[0]["stack"], stack("give"));
  const Json& object = found[0]["objects"][0];
  EXPECT_EQ(object["value"], "0x2000");
  EXPECT_EQ(object["pid"], 2);
  EXPECT_EQ(object["stack"], stack("open_it"));
  EXPECT_EQ(object["ended_by_call"], 7u);
  EXPECT_THAT(object["ended_stack"], IsEmpty());
}

TEST(IpcOrder, WhatWasNeverClosedIsOpenUntilItsProcessReports) {
  const auto found = judged(use("export", 10, 50), use("open", 20, 60, 0));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0]["message"].get<std::string>(), HasSubstr("had not closed it"));
  EXPECT_THAT(judged(use("export", 10, 50), use("open", 20, 40, 0)), IsEmpty())
      << "the importer had ended by then";
}

TEST(IpcOrder, AClosedOneOrAnotherHandleIsNot) {
  EXPECT_THAT(judged(use("export", 10, 50), use("open", 20, 40)), IsEmpty());
  EXPECT_THAT(judged(use("export", 10, 50), use("open", 20, 50)), IsEmpty());
  EXPECT_THAT(judged(use("export", 10, 0), use("open", 20, 60)), IsEmpty()) << "never freed";
  EXPECT_THAT(judged(use("export", 10, 50), use("open", 20, 60, 9, "cd")), IsEmpty());
  EXPECT_THAT(
      ipc_order_findings({report(1, Json::array({use("export", 10, 50), use("open", 20, 60)}))})
          .findings,
      IsEmpty());
}

TEST(IpcOrder, OddListsArePassedOver) {
  for (const Json& odd : {Json("x"), Json(Json::object()), Json::array({1, "x", Json::object()}),
                          Json::array({{{"role", 1}, {"handle", "ab"}}})}) {
    EXPECT_THAT(ipc_order_findings({report(1, odd)}).findings, IsEmpty());
  }
  Json torn = use("export", 10, 50);
  torn["until"] = -1;
  EXPECT_THAT(judged(torn, use("open", 20, 60)), IsEmpty());
}

TEST(IpcOrder, AProcessThatOpenedItMoreThanOnceIsOneFinding) {
  const IpcFindings found =
      ipc_order_findings({report(1, Json::array({use("export", 10, 50)})),
                          report(2, Json::array({use("open", 20, 60), use("open", 30, 4060, 8)})),
                          report(3, Json::array({use("open", 50, 51)})),
                          report(4, Json::array({use("open", 51, 60)}))});
  ASSERT_THAT(found.findings, SizeIs(2));
  EXPECT_EQ(found.findings[0]["count"], 2u);
  EXPECT_THAT(found.findings[0]["message"].get<std::string>(), HasSubstr("process 2 had open"));
  EXPECT_THAT(found.findings[0]["message"].get<std::string>(), HasSubstr("4 us later"));
  EXPECT_THAT(found.findings[1]["message"].get<std::string>(), HasSubstr("process 3 had open"));
}

// A finding for every pair of these would make 1.4 million findings.
TEST(IpcOrder, LongListsCostNoSquare) {
  constexpr std::uint64_t kMany = 1200;
  std::vector<ProcessReport> reports;
  Json repeated = Json::array(), frees = Json::array();
  for (std::uint64_t i = 0; i < kMany; ++i) {
    repeated.push_back(use("export", 1, 5));
    frees.push_back(use("export", 1, 10 + i, 100 + i));
    reports.push_back(
        report(static_cast<std::int64_t>(10 + i), Json::array({use("open", 1, 1'000'000)})));
  }
  reports.push_back(report(1, repeated));
  EXPECT_THAT(ipc_order_findings(reports).findings, SizeIs(kMostIpcFindings));
  EXPECT_EQ(ipc_order_findings(reports).left_out, kMany - kMostIpcFindings);
  reports.back() = report(1, frees);
  EXPECT_EQ(ipc_order_findings(reports).left_out, kMany * kMany - kMostIpcFindings);
  const MergedReport merged = merge_reports(reports);
  EXPECT_THAT(merged.notes.back(), HasSubstr("1439000 more findings of memory that was freed"));
}

TEST(IpcOrder, TheMergedReportHasItAndCountsIt) {
  const MergedReport merged = merge_reports({report(1, Json::array({use("export", 10, 50)})),
                                             report(2, Json::array({use("open", 20, 60)}))},
                                            {});
  EXPECT_EQ(merged.totals.undefined, 1u);
  EXPECT_EQ(merged.first_rule, "cuIpcGetMemHandle-freed-after-close");
  EXPECT_THAT(merged.value["findings"], SizeIs(1));
  EXPECT_EQ(merged.between, merged.value["findings"]);
  EXPECT_FALSE(merged.value.contains("ipc"));
}

}  // namespace
}  // namespace cuvmm::tools
