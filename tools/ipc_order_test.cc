#include "tools/ipc_order.h"

#include <gmock/gmock.h>

#include "tools/report_merge.h"

namespace cuvmm {
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
  return ipc_order_findings({report(1, {exporter}), report(2, {importer})});
}

TEST(IpcOrder, AFreeWhileAnotherHasItOpenIsFound) {
  const auto found = judged(use("export", 10, 50), use("open", 20, 2060, 7));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["rule"], "cuIpcGetMemHandle-freed-after-close");
  EXPECT_EQ(found[0]["pid"], 1);
  EXPECT_EQ(found[0]["call_index"], 9u);
  EXPECT_THAT(found[0]["message"].get<std::string>(), HasSubstr("closed it 2 us later"));
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
  EXPECT_THAT(ipc_order_findings({report(1, {use("export", 10, 50), use("open", 20, 60)})}),
              IsEmpty());
}

TEST(IpcOrder, OddListsArePassedOver) {
  for (const Json& odd : {Json("x"), Json(Json::object()), Json::array({1, "x", Json::object()}),
                          Json::array({{{"role", 1}, {"handle", "ab"}}})}) {
    EXPECT_THAT(ipc_order_findings({report(1, odd)}), IsEmpty());
  }
  Json torn = use("export", 10, 50);
  torn["until"] = -1;
  EXPECT_THAT(judged(torn, use("open", 20, 60)), IsEmpty());
}

TEST(IpcOrder, TheMergedReportHasItAndCountsIt) {
  const MergedReport merged =
      merge_reports({report(1, {use("export", 10, 50)}), report(2, {use("open", 20, 60)})}, {});
  EXPECT_EQ(merged.totals.undefined, 1u);
  EXPECT_EQ(merged.first_rule, "cuIpcGetMemHandle-freed-after-close");
  EXPECT_THAT(merged.value["findings"], SizeIs(1));
  EXPECT_FALSE(merged.value.contains("ipc"));
}

}  // namespace
}  // namespace cuvmm
