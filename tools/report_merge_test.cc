#include "tools/report_merge.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <ostream>

#include "tools/summary.h"
#include "tools/temporary_folder.h"

namespace cuvmm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Json finding(const char* rule, const char* kind, std::uint64_t count) {
  return {{"rule", rule},   {"kind", kind},  {"call", "cuMemMap"}, {"arguments", Json::object()},
          {"message", "m"}, {"count", count}};
}

Json report(Json findings = Json::array()) {
  return {{"schema", 1},
          {"driver", {{"path", "/lib/libcuda.so.1"}, {"version", 13000}, {"emulated", true}}},
          {"calls", {{"cuMemMap", 3u}, {"cuMemUnmap", 1u}}},
          {"unchecked", {"cuMemNew v99000"}},
          {"findings", std::move(findings)},
          {"summary", {{"error", 0u}, {"undefined", 0u}, {"leak", 0u}}},
          {"alive", {{"allocations", 1u}, {"bytes", 4096u}, {"reservations", 2u}}}};
}

ProcessReport parsed(const Json& value, const std::string& name = "/d/7-a.json") {
  return parse_process_report(value.dump(), name);
}

// --- Reading one

TEST(ParseProcessReport, TakesThePidFromTheReportOrElseTheFile) {
  EXPECT_EQ(parsed(report()).pid, 7);
  Json value = report();
  value["pid"] = 12u;
  EXPECT_EQ(parsed(value).pid, 12);
  EXPECT_EQ(parsed(report(), "/d/odd.json").pid, 0);
}

struct Bad {
  const char* name;
  std::string text;
  const char* why;
};

std::string without(const char* key) {
  Json value = report();
  value.erase(key);
  return value.dump();
}
std::string with(const char* key, Json part) {
  Json value = report();
  value[key] = std::move(part);
  return value.dump();
}
std::string with_finding(const char* key, Json part) {
  Json one = finding("r", "error", 1);
  one[key] = std::move(part);
  return report({one}).dump();
}

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }
class BadReport : public testing::TestWithParam<Bad> {};

TEST_P(BadReport, IsRefusedByNameAndReason) {
  const ProcessReport result = parse_process_report(GetParam().text, "/d/7-a.json");
  EXPECT_THAT(result.error, AllOf(HasSubstr("/d/7-a.json: "), HasSubstr(GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadReport,
    testing::Values(Bad{"empty", "", "no complete JSON"},
                    Bad{"torn", report().dump().substr(0, 80), "no complete JSON"},
                    Bad{"not_utf8", "{\"schema\":1,\"x\":\"\xff\xfe\"}", "no complete JSON"},
                    Bad{"deep", std::string(200000, '['), "no complete JSON"},
                    Bad{"array", "[]", "no JSON object"},
                    Bad{"no_schema", without("schema"), "\"schema\" is not 1"},
                    Bad{"next_schema", with("schema", 2), "\"schema\" is not 1"},
                    Bad{"text_driver", with("driver", "x"), "\"driver\" is no object"},
                    Bad{"calls_array", with("calls", Json::array()), "\"calls\" is no object"},
                    Bad{"negative_call", with("calls", {{"cuMemMap", -1}}),
                        "\"cuMemMap\" is no count"},
                    Bad{"fraction", with("alive", {{"bytes", 0.5}}), "\"bytes\" is no count"},
                    Bad{"unchecked_text", with("unchecked", "x"), "\"unchecked\" is no array"},
                    Bad{"suppressed_text", with("suppressed", "x"), "\"suppressed\" is no count"},
                    Bad{"no_findings", without("findings"), "\"findings\" is missing"},
                    Bad{"finding_text", report({"x"}).dump(), "finding 0 is no object"},
                    Bad{"rule_number", with_finding("rule", 1), "finding 0 has no string \"rule\""},
                    Bad{"kind_new", with_finding("kind", "fatal"), "unknown \"kind\""},
                    Bad{"count_zero", with_finding("count", 0u), "no \"count\""},
                    Bad{"count_text", with_finding("count", "1"), "no \"count\""}),
    [](const auto& param) { return param.param.name; });

class ReportFolder : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
    return folder_.path() + "/" + name;
  }
  TemporaryFolder folder_;
};

TEST_F(ReportFolder, ReadsOnlyRegularFiles) {
  const std::string good = write("7-a.json", report().dump());
  EXPECT_EQ(read_process_report(good).error, "");
  const std::string link = folder_.path() + "/8-a.json";
  ASSERT_EQ(symlink(good.c_str(), link.c_str()), 0);
  EXPECT_NE(read_process_report(link).error, "");
  const std::string pipe = folder_.path() + "/9-a.json";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(read_process_report(pipe).error, HasSubstr("no regular file"));
}

TEST_F(ReportFolder, RefusesAFileThatWouldFillTheMemory) {
  const std::string path = write("7-a.json", "");
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(kLargestReport) + 1), 0);
  EXPECT_THAT(read_process_report(path).error, HasSubstr("larger than 256 MiB"));
}

TEST_F(ReportFolder, TheProgramsOwnProcessComesFirstThenByPid) {
  for (const char* name : {"30-a.json", "4-a.json", "200-a.json"}) write(name, report().dump());
  std::vector<std::int64_t> pids;
  for (const ProcessReport& one : read_reports(folder_.path(), 30)) pids.push_back(one.pid);
  EXPECT_THAT(pids, ElementsAre(30, 4, 200));
}

TEST_F(ReportFolder, ABadFileIsNamedAndTheOthersAreKept) {
  write("1-a.json", report({finding("cuMemMap-bounds", "error", 2)}).dump());
  write("2-a.json", report().dump().substr(0, 30));
  write("3-a.json.3.99.tmp", "{");
  const MergedReport merged = merge_reports(read_reports(folder_.path(), 1));
  EXPECT_EQ(merged.processes, 1u);
  EXPECT_EQ(merged.totals.errors, 2u);
  ASSERT_THAT(merged.notes, SizeIs(2));
  const std::string all = merged.notes[0] + merged.notes[1];
  EXPECT_THAT(all, AllOf(HasSubstr("2-a.json: no complete JSON"), HasSubstr(".tmp: unfinished")));
  EXPECT_THAT(merged.value["notes"], SizeIs(2));
}

// --- Merging

TEST(MergeReports, SumsCountsAndJoinsFindings) {
  const MergedReport merged = merge_reports(
      {parsed(report({finding("cuMemMap-bounds", "error", 2), finding("x", "advice", 9)}),
              "5-a.json"),
       parsed(
           report({finding("cuMemRelease-handle-valid", "undefined", 1), finding("l", "leak", 4)}),
           "6-a.json")});
  const Json& value = merged.value;
  EXPECT_EQ(value["schema"], 1);
  EXPECT_EQ(value["calls"], (Json{{"cuMemMap", 6}, {"cuMemUnmap", 2}}));
  EXPECT_EQ(value["alive"], (Json{{"allocations", 2}, {"bytes", 8192}, {"reservations", 4}}));
  EXPECT_EQ(value["unchecked"], Json{"cuMemNew v99000"});
  EXPECT_EQ(value["summary"], (Json{{"error", 2}, {"undefined", 1}, {"leak", 4}}));
  ASSERT_THAT(value["findings"], SizeIs(4));
  EXPECT_EQ(value["findings"][0]["pid"], 5);
  EXPECT_EQ(value["findings"][3]["pid"], 6);
  EXPECT_EQ(merged.totals.advice, 9u);
  EXPECT_EQ(merged.first_rule, "cuMemMap-bounds");
  EXPECT_TRUE(merged.totals.any());
}

TEST(MergeReports, LeaksOfOneMemoryNameEachOther) {
  Json kept = finding("cuMemExportToShareableHandle-fd-closed", "leak", 1);
  kept["memory"] = "1:77";
  Json held = finding("cuMemImportFromShareableHandle-released", "leak", 1);
  held["memory"] = "1:77";
  Json other = held;
  other["memory"] = "1:78";
  const MergedReport merged = merge_reports(
      {parsed(report({kept}), "5-a.json"), parsed(report({held, other}), "6-a.json")});
  const Json& findings = merged.value["findings"];
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0]["related"],
            (Json::array({{{"pid", 6}, {"rule", "cuMemImportFromShareableHandle-released"}}})));
  EXPECT_EQ(findings[1]["related"],
            (Json::array({{{"pid", 5}, {"rule", "cuMemExportToShareableHandle-fd-closed"}}})));
  EXPECT_FALSE(findings[2].contains("related"));
}

TEST(MergeReports, TwoLeaksOfOneProcessAreNotRelated) {
  Json held = finding("cuMemImportFromShareableHandle-released", "leak", 1);
  held["memory"] = "1:77";
  const MergedReport merged = merge_reports({parsed(report({held, held}), "6-a.json")});
  for (const Json& one : merged.value["findings"]) EXPECT_FALSE(one.contains("related"));
}

TEST(MergeReports, AdviceAloneIsNoFailure) {
  const MergedReport merged = merge_reports({parsed(report({finding("x", "advice", 1)}))});
  EXPECT_FALSE(merged.totals.any());
  EXPECT_EQ(merged.first_rule, "");
}

TEST(MergeReports, TheDriverIsThatOfTheFirstProcessThatHasOne) {
  Json shell = report();
  shell["driver"] = nullptr;
  Json other = report();
  other["driver"]["path"] = "/elsewhere";
  const MergedReport merged = merge_reports({parsed(shell), parsed(report()), parsed(other)});
  EXPECT_EQ(merged.value["driver"]["path"], "/lib/libcuda.so.1");
  EXPECT_THAT(merged.notes, ElementsAre(HasSubstr("another driver: /elsewhere")));
}

TEST(MergeReports, CountsSaturate) {
  const std::uint64_t most = ~std::uint64_t{0};
  const ProcessReport one = parsed(report({finding("r", "error", most)}));
  const MergedReport merged = merge_reports({one, one});
  EXPECT_EQ(merged.totals.errors, most);
}

TEST(MergeReports, ReportsAndUnknownMembersOfANewerShimSurvive) {
  Json one = report(), two = report();
  one["escapes"] = {"a"};
  two["escapes"] = {"a", "b"};
  one["suppressed"] = 3u;
  const MergedReport merged = merge_reports({parsed(one), parsed(two)});
  EXPECT_EQ(merged.value["escapes"], (Json{"a", "b"}));
  EXPECT_EQ(merged.value["suppressed"], 3u);
}

TEST(MergeReports, AProcessThatWasKilledIsNoted) {
  Json value = report();
  value["ended"] = "running";
  EXPECT_THAT(merge_reports({parsed(value)}).notes,
              ElementsAre(HasSubstr("process 7 did not get")));
}

TEST(MergeReports, NothingIsAWholeReportToo) {
  const Json value = merge_reports({}).value;
  EXPECT_THAT(value["findings"], IsEmpty());
  EXPECT_EQ(value["processes"], 0u);
  EXPECT_EQ(value["driver"]["path"], "");
}

// --- The last lines

TEST(SummaryText, CountsAndTheNextCommand) {
  const MergedReport merged =
      merge_reports({parsed(report({finding("cuMemMap-bounds", "error", 1)}))});
  const std::string text = summary_text(merged, {"r.json"});
  EXPECT_THAT(
      text, HasSubstr("cuvmm: 1 error, 0 undefined, 0 leaks in 4 calls of 1 process (emulator)\n"));
  EXPECT_THAT(text, HasSubstr("cuvmm: report in r.json\n"));
  EXPECT_THAT(text, HasSubstr("cuvmm explain cuMemMap-bounds\n"));
}

TEST(SummaryText, SaysWhenNothingWasChecked) {
  EXPECT_THAT(summary_text(merge_reports({}), {}), HasSubstr("nothing was checked"));
  EXPECT_THAT(summary_text(merge_reports({parsed(report())}), {}),
              AllOf(HasSubstr("0 errors"), Not(HasSubstr("explain"))));
}

}  // namespace
}  // namespace cuvmm
