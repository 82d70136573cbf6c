// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_merge.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <ostream>

#include "rulebook/catalogue/rule.h"
#include "tools/base/temporary_folder.h"
#include "tools/report/summary.h"
#include "tools/report/testing_report.h"

namespace cuvmm::tools {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// --- Reading one report

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
  return report(Json::array({one, finding("kept", "error", 1)})).dump();
}
std::string nested(const char* open, const char* close, int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  const std::string whole = report().dump();
  return whole.substr(0, whole.size() - 1) + ",\"x\":" + text + "}";
}

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }
class NoReport : public testing::TestWithParam<Bad> {};

TEST_P(NoReport, IsRefusedByNameAndReason) {
  const ProcessReport result = parse_process_report(GetParam().text, "/d/7-a.json");
  EXPECT_THAT(result.error, AllOf(HasSubstr("/d/7-a.json "), HasSubstr(GetParam().why)));
  EXPECT_EQ(result.pid, 7);
}

INSTANTIATE_TEST_SUITE_P(
    All, NoReport,
    testing::Values(Bad{"empty", "", "is empty: the disk was full, or the process was ended"},
                    Bad{"torn", report().dump().substr(0, 80), "no complete JSON"},
                    Bad{"not_utf8", "{\"schema\":1,\"x\":\"\xff\xfe\"}", "no complete JSON"},
                    Bad{"open_lists", std::string(200000, '['), "no complete JSON"},
                    Bad{"array", "[]", "no complete JSON object"},
                    Bad{"deep", nested("[", "]", 200000), "nested deeper than 64"},
                    Bad{"deep_objects", nested("{\"a\":", "}", 200000), "nested deeper than 64"},
                    Bad{"no_schema", without("schema"), "is no report of cuvmm in JSON"},
                    Bad{"next_schema", with("schema", 2),
                        "its \"schema\" is 2, and this cuvmm reads 1"}),
    [](const auto& param) { return param.param.name; });

TEST(ParseProcessReport, ALostOneIsTheProcessesNotTheContracts) {
  EXPECT_TRUE(parse_process_report("", "7-a.json").lost);
  EXPECT_TRUE(parse_process_report("{\"schema\":1,", "7-a.json").lost);
  EXPECT_FALSE(parse_process_report("{\"schema\":2}", "7-a.json").lost);
  EXPECT_FALSE(parse_process_report(nested("[", "]", 1000), "7-a.json").lost);
}

class OddMember : public testing::TestWithParam<Bad> {};

TEST_P(OddMember, IsLeftOutByNameAndTheRestCounts) {
  const ProcessReport result = parse_process_report(GetParam().text, "/d/7-a.json");
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.problems,
              ElementsAre(AllOf(HasSubstr("/d/7-a.json: "), HasSubstr(GetParam().why))));
  const MergedReport merged = merge_reports({result, result});
  EXPECT_EQ(merged.processes, 2u);
  EXPECT_THAT(merged.notes, Contains(AllOf(HasSubstr("process 7: "), HasSubstr(GetParam().why))));
  for (const Json& one : merged.value["findings"]) {
    for (const char* key :
         {"arguments", "documented", "result", "call_index", "stack", "objects"}) {
      EXPECT_TRUE(one.contains(key)) << key;  // the merged report fulfils its schema
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OddMember,
    testing::Values(
        Bad{"text_driver", with("driver", "x"), "\"driver\" was left out: expected an object"},
        Bad{"driver_path", with("driver", {{"path", Json::object()}}),
            "with \"path\", \"version\" and"},
        Bad{"huge_pid", with("pid", ~std::uint64_t{0}), "\"pid\" was left out"},
        Bad{"odd_end", with("ended", Json::object()), "\"ended\" was left out: expected a string"},
        Bad{"calls_array", with("calls", Json::array()), "\"calls\" was left out: expected an obj"},
        Bad{"negative_call", with("calls", {{"cuMemMap", -1}}),
            "\"cuMemMap\" of \"calls\" was left out: expected a count"},
        Bad{"fraction", with("alive", {{"bytes", 0.5}}), "\"bytes\" of \"alive\""},
        Bad{"unchecked_text", with("unchecked", "x"), "\"unchecked\" was left out"},
        Bad{"unchecked_number", with("unchecked", {"a", 1}), "element 1 of \"unchecked\""},
        Bad{"notes_number", with("notes", {1}), "element 0 of \"notes\""},
        Bad{"ipc_text", with("ipc", "x"), "\"ipc\" was left out: expected a list"},
        Bad{"suppressed_text", with("suppressed", "x"), "\"suppressed\" was left out"},
        Bad{"expected_text", with("expected", "x"), "\"expected\" was left out"},
        Bad{"no_findings", without("findings"), "\"findings\" was left out: expected a list"},
        Bad{"finding_text", report({"x", finding("kept", "leak", 1)}).dump(),
            "finding 0 was left out: expected an object"},
        Bad{"rule_number", with_finding("rule", 1), "finding 0 was left out: expected \"rule\""},
        Bad{"rule_escape", with_finding("rule", "\033[31mred"), "to be letters, digits, - and _"},
        Bad{"kind_new", with_finding("kind", "fatal"), "\"kind\" to be error, undefined"},
        Bad{"count_zero", with_finding("count", 0u), "\"count\" to be a count of 1 or more"},
        Bad{"count_text", with_finding("count", "1"), "\"count\" to be a count of 1 or more"},
        Bad{"memory", with_finding("memory", 5), "finding 0: \"memory\" was left out"},
        Bad{"arguments", with_finding("arguments", {{"a", 1}}), "finding 0: \"arguments\""},
        Bad{"stack", with_finding("stack", {{{"function", 1}}}), "finding 0: \"stack\""},
        Bad{"objects", with_finding("objects", {{{"what", "x"}}}), "finding 0: \"objects\""}),
    [](const auto& param) { return param.param.name; });

TEST(ParseProcessReport, NoRuleIsLeftOut) {
  for (const RuleInfo& rule : rules()) {
    const ProcessReport result = parse_process_report(with_finding("rule", rule.id), "7-a.json");
    EXPECT_THAT(result.problems, IsEmpty()) << rule.id;
  }
}

TEST(ParseProcessReport, WhatIsForTheRunnerToSayIsNotTakenOver) {
  const ProcessReport result = parse_process_report(with_finding("related", "x"), "7-a.json");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_FALSE(result.value["findings"][0].contains("related"));
}

TEST(ParseProcessReport, ALongListOfOddThingsIsCutShort) {
  const ProcessReport result = parsed(report(Json(std::vector<int>(5000, 1))));
  ASSERT_THAT(result.problems, SizeIs(9));
  EXPECT_THAT(result.problems.back(), HasSubstr("4992 more things"));
}

// --- Several documents in one file: a process that cannot rename files appends its reports.

std::string ended(const char* how, Json findings = Json::array()) {
  Json value = report(std::move(findings));
  value["ended"] = how;
  return value.dump() + "\n";
}

TEST(AppendedReports, TheLastWholeOneCounts) {
  const std::string file =
      ended("running") + ended("running", Json::array({finding("a", "error", 1)})) +
      ended("exit", Json::array({finding("a", "error", 2), finding("b", "leak", 1)}));
  const ProcessReport result = parse_process_report(file, "7-a.json");
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.value["ended"], "exit");
  EXPECT_THAT(result.value["findings"], SizeIs(2));
}

TEST(AppendedReports, ATornTailIsIgnoredAndNoted) {
  const std::string whole = ended("running", Json::array({finding("a", "error", 3)}));
  const std::string next = ended("exit", Json::array({finding("a", "error", 4)}));
  for (const std::size_t length : {std::size_t{1}, std::size_t{60}, next.size() - 2}) {
    const MergedReport merged =
        merge_reports({parse_process_report(whole + next.substr(0, length), "7-a.json")});
    EXPECT_EQ(merged.totals.errors, 3u) << length;
    EXPECT_THAT(merged.notes, ElementsAre(HasSubstr("process 7: 7-a.json: a part is torn"),
                                          HasSubstr("process 7 was ended before it could look")));
  }
}

TEST(AppendedReports, OneBehindATornOneIsFound) {
  const std::string torn = ended("running", Json::array({finding("a", "error", 1)}));
  const std::string last = ended("exit", Json::array({finding("a", "error", 5)}));
  for (std::size_t length = 1; length + 1 < torn.size(); ++length) {
    for (const char* between : {"", "\n"}) {
      const ProcessReport result =
          parse_process_report(torn.substr(0, length) + between + last, "7-a.json");
      ASSERT_EQ(result.error, "") << length;
      EXPECT_EQ(result.value["ended"], "exit") << length;
      EXPECT_THAT(result.problems, SizeIs(1)) << length;
    }
  }
}

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
  write("1-a.json", report(Json::array({finding("cuMemMap-bounds", "error", 2)})).dump());
  write("2-a.json", report().dump().substr(0, 30));
  write("3-a.json.3.99.tmp", "{");
  write("1-a.json.1.99.tmp", "{");
  const MergedReport merged = merge_reports(read_reports(folder_.path(), 1));
  EXPECT_EQ(merged.processes, 1u);
  EXPECT_EQ(merged.unread, 2u);
  EXPECT_EQ(merged.totals.errors, 2u);
  ASSERT_THAT(merged.notes, SizeIs(2));
  const std::string all = merged.notes[0] + merged.notes[1];
  EXPECT_THAT(all, AllOf(HasSubstr("process 2 used a driver, and its report was lost: "),
                         HasSubstr("2-a.json holds no complete JSON"),
                         HasSubstr("process 3 used a driver"), HasSubstr("(it was unfinished)")));
  EXPECT_THAT(merged.value["notes"], SizeIs(2));
}

TEST_F(ReportFolder, AMarkSaysThatTheLastReportIsLost) {
  write("1-a.json", report().dump());
  write("1-a.json.lost", "");
  const MergedReport merged = merge_reports(read_reports(folder_.path(), 1));
  EXPECT_EQ(merged.processes, 1u);
  EXPECT_EQ(merged.unread, 1u);
  EXPECT_THAT(merged.notes, ElementsAre(HasSubstr("could not write its last report")));
}

// --- Merging

TEST(MergeReports, SumsCountsAndJoinsFindings) {
  const MergedReport merged = merge_reports(
      {parsed(
           report(Json::array({finding("cuMemMap-bounds", "error", 2), finding("x", "advice", 9)})),
           "5-a.json"),
       parsed(report(Json::array(
                  {finding("cuMemRelease-handle-valid", "undefined", 1), finding("l", "leak", 4)})),
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
  const MergedReport merged =
      merge_reports({parsed(report(Json::array({kept})), "5-a.json"),
                     parsed(report(Json::array({held, other})), "6-a.json")});
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
  const MergedReport merged =
      merge_reports({parsed(report(Json::array({held, held})), "6-a.json")});
  for (const Json& one : merged.value["findings"]) EXPECT_FALSE(one.contains("related"));
}

TEST(MergeReports, AdviceAloneIsNoFailure) {
  const MergedReport merged =
      merge_reports({parsed(report(Json::array({finding("x", "advice", 1)})))});
  EXPECT_FALSE(merged.totals.any());
  EXPECT_EQ(merged.first_rule, "");
}

TEST(MergeReports, AnswersAreKeptAndNotCounted) {
  const MergedReport merged =
      merge_reports({parsed(report(Json::array({finding("x", "answer", 50)})))});
  EXPECT_FALSE(merged.totals.any());
  EXPECT_EQ(merged.totals.advice, 0u);
  EXPECT_EQ(merged.first_rule, "");
  ASSERT_THAT(merged.value["findings"], SizeIs(1));
  EXPECT_EQ(merged.value["findings"][0]["count"], 50);
}

TEST(MergeReports, AdviceThatTheProgramDidWithoutIsNotSummedUp) {
  Json tried = finding("x", "advice", 73);
  tried["handled"] = 70;
  EXPECT_EQ(merge_reports({parsed(report(Json::array({tried})))}).totals.advice, 3u);
  tried["handled"] = 80;
  EXPECT_EQ(merge_reports({parsed(report(Json::array({tried})))}).totals.advice, 0u)
      << "nobody vouches for it";
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

TEST(MergeReports, ManyLeaksOfOneMemoryNameSomeOfTheOthers) {
  std::vector<ProcessReport> reports;
  for (unsigned pid = 1; pid <= 100; ++pid) {
    Json held = finding("l", "leak", 1);
    held["memory"] = "1:77";
    Json value = report(Json::array({held}));
    value["pid"] = pid;
    reports.push_back(parsed(value));
  }
  for (const Json& one : merge_reports(reports).value["findings"]) {
    EXPECT_THAT(one["related"].size(), testing::AnyOf(16u, 17u));
  }
}

TEST(MergeReports, CountsSaturate) {
  const std::uint64_t most = ~std::uint64_t{0};
  const ProcessReport one = parsed(report(Json::array({finding("r", "error", most)})));
  const MergedReport merged = merge_reports({one, one});
  EXPECT_EQ(merged.totals.errors, most);
  Json calls = report();
  calls["calls"]["cuMemMap"] = most;
  EXPECT_THAT(summary_text(merge_reports({parsed(calls), parsed(calls)}), {}),
              HasSubstr("in 18446744073709551615 calls"));
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

TEST(MergeReports, ASuppressionIsUnusedIfNoProcessUsedIt) {
  Json one = report(), two = report();
  one["unused_suppressions"] = {"known.supp:1: rule:a", "known.supp:2: rule:b"};
  two["unused_suppressions"] = {"known.supp:2: rule:b"};
  const MergedReport merged = merge_reports({parsed(one), parsed(two)});
  EXPECT_EQ(merged.value["unused_suppressions"], Json::array({"known.supp:2: rule:b"}));
  EXPECT_THAT(summary_text(merged, {}),
              HasSubstr("1 suppression was not used:\n    known.supp:2: rule:b\n"));
  EXPECT_FALSE(
      merge_reports({parsed(one), parsed(report())}).value.contains("unused_suppressions"));
}

TEST(MergeReports, WhatProgramsExpectAddsUpAndScopesStay) {
  Json named = finding("r", "leak", 1);
  named["scope"] = "a test";
  Json one = report(Json::array({named})), two = report();
  EXPECT_FALSE(merge_reports({parsed(one)}).value.contains("expected"));
  one["expected"] = 3u;
  two["expected"] = 4u;
  const MergedReport merged = merge_reports({parsed(one), parsed(two)});
  EXPECT_EQ(merged.value["expected"], 7u);
  EXPECT_EQ(merged.value["findings"][0]["scope"], "a test");
}

TEST(MergeReports, AProcessThatWasKilledCountsAndIsNoted) {
  const ProcessReport killed =
      parse_process_report(ended("running", Json::array({finding("a", "error", 2)})), "7-a.json");
  const auto note = [&](const Endings& endings) {
    const MergedReport merged = merge_reports({killed}, {}, endings);
    EXPECT_TRUE(merged.totals.any());
    return merged.notes.at(0);
  };
  EXPECT_EQ(note({{{7, 9}}, false}),
            "process 7 was ended by signal 9 (SIGKILL) before it could look for leaks; its "
            "findings until then count");
  EXPECT_THAT(note({{{8, 9}}, true}), HasSubstr("leaks (killed, or still running); its"));
  EXPECT_THAT(note({}), HasSubstr("leaks (killed, or it became another program); its"));
}

TEST(MergeReports, ALostReportIsNotedWithWhatIsKnown) {
  const ProcessReport empty = parse_process_report("", "/d/12-1.2.json");
  EXPECT_THAT(merge_reports({empty}).notes,
              ElementsAre("process 12 used a driver, and its report was lost: /d/12-1.2.json is "
                          "empty: the disk was full, or the process was ended while it wrote it"));
  EXPECT_THAT(
      merge_reports({empty}, {}, {{{12, 15}}, false}).notes,
      ElementsAre(HasSubstr("used a driver and was ended by signal 15 (SIGTERM), and its")));
}

TEST(MergeReports, WhatAProcessNotesIsItsOwn) {
  Json value = report();
  value["notes"] = {"leaks were not looked for"};
  const MergedReport merged = merge_reports({parsed(value)}, {"first"});
  EXPECT_THAT(merged.notes, ElementsAre("first", "process 7: leaks were not looked for"));
  EXPECT_EQ(merged.value["notes"], Json(merged.notes));
}

TEST(MergeReports, NothingIsAWholeReportToo) {
  const Json value = merge_reports({}).value;
  EXPECT_THAT(value["findings"], IsEmpty());
  EXPECT_EQ(value["processes"], 0u);
  EXPECT_EQ(value["driver"]["path"], "");
}

}  // namespace
}  // namespace cuvmm::tools
