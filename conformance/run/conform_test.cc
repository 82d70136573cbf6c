// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/conform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/mutation/mutation_score.h"
#include "conformance/run/conform_report.h"
#include "conformance/suite/family_cases.h"
#include "conformance/suite/suite.h"

namespace cuvmm::conformance {

using program::parse_program;
namespace {

using ::testing::HasSubstr;

constexpr const char* kCases =
    "case g/breaks\nbreaks cuMemMap-offset-zero\ninit()\n"
    "cuMemMap(0, 2M, 5, offset=1)  # CUDA_ERROR_INVALID_VALUE !cuMemMap-offset-zero\n"
    "case g/legal-value\ninit()\nsame(1, 1)  # CUDA_SUCCESS =1\n"
    "case g/advice\nbreaks cuMemMap-whole-allocation\ninit()\n"
    "cuMemMap(0, 2M, 5)  # CUDA_SUCCESS !cuMemMap-whole-allocation\n";

class Conform : public ::testing::Test {
 protected:
  Conform() {
    recording_.cases["g/breaks"] = {"CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"};
    recording_.cases["g/legal-value"] = {"CUDA_SUCCESS", "CUDA_SUCCESS =1"};
    recording_.cases["g/advice"] = {"CUDA_SUCCESS", "CUDA_SUCCESS"};
  }
  CaseResult result(const std::string& name) {
    for (CaseResult& each : judge_cases({&cases_, &recording_, known_, &waivers_})) {
      if (each.test_case->name == name) return each;
    }
    ADD_FAILURE() << name;
    return {};
  }
  CaseStatus status(const std::string& name) { return result(name).status; }

  std::vector<Case> cases_ = parse_cases(kCases, "f").cases;
  Recording recording_;
  const Profile* known_ = nullptr;
  CaseWaivers waivers_;
};

TEST_F(Conform, PassesWhatAnswersAsDocumented) {
  for (const Case& each : cases_) EXPECT_EQ(status(each.name), CaseStatus::kPass) << each.name;
}

TEST_F(Conform, CallsAnotherCodeADeviationAndKnowsItFromAProfile) {
  recording_.cases["g/breaks"][1] = "CUDA_ERROR_NOT_SUPPORTED";
  EXPECT_EQ(status("g/breaks"), CaseStatus::kDeviation);
  EXPECT_FALSE(result("g/breaks").known);
  EXPECT_THAT(result("g/breaks").reason, HasSubstr("CUDA_ERROR_NOT_SUPPORTED, expected "));
  Profile profile = load_profile("documented").profile;
  profile.verdicts[static_cast<std::size_t>(Rule::kMapOffsetZero)].code = CUDA_ERROR_NOT_SUPPORTED;
  known_ = &profile;
  EXPECT_TRUE(result("g/breaks").known);
}

TEST_F(Conform, CallsAnAcceptedMisuseADeviation) {
  recording_.cases["g/breaks"][1] = "CUDA_SUCCESS";
  EXPECT_EQ(status("g/breaks"), CaseStatus::kDeviation);
  EXPECT_FALSE(fails_run(result("g/breaks"), false));
  EXPECT_TRUE(fails_run(result("g/breaks"), true));
}

TEST_F(Conform, CallsARefusalOfAdviceADeviation) {
  recording_.cases["g/advice"][1] = "CUDA_ERROR_UNKNOWN";
  EXPECT_EQ(status("g/advice"), CaseStatus::kDeviation);
}

TEST_F(Conform, FailsARefusedLegalCallAndAWrongValue) {
  recording_.cases["g/legal-value"][1] = "CUDA_SUCCESS =0";
  EXPECT_EQ(status("g/legal-value"), CaseStatus::kFail);
  recording_.cases["g/breaks"][0] = "CUDA_ERROR_UNKNOWN";
  EXPECT_EQ(status("g/breaks"), CaseStatus::kFail);
  EXPECT_TRUE(fails_run(result("g/breaks"), false));
}

TEST_F(Conform, FailsAStaleCaseWhoseOutputIsWritten) {
  cases_ = parse_cases(
               "case stale/x\nbreaks cuMemCreate-flags-zero\ninit()\n"
               "cuMemCreate(2M, device=0, flags=1)  # CUDA_ERROR_INVALID_VALUE "
               "!cuMemCreate-flags-zero\n",
               "f")
               .cases;
  recording_.cases["stale/x"] = {"CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"};
  EXPECT_EQ(status("stale/x"), CaseStatus::kPass);
  recording_.cases["stale/x"][1] = "CUDA_ERROR_INVALID_VALUE =0";
  EXPECT_EQ(status("stale/x"), CaseStatus::kFail);
}

TEST_F(Conform, TellsCrashesAndTimeouts) {
  recording_.cases["g/breaks"][1] = "signal:SIGSEGV";
  EXPECT_EQ(status("g/breaks"), CaseStatus::kCrash);
  EXPECT_FALSE(fails_run(result("g/breaks"), false)) << "the call broke a rule";
  recording_.cases["g/legal-value"] = {"timeout", "not-run: its process is gone (timeout)"};
  EXPECT_EQ(status("g/legal-value"), CaseStatus::kTimeout);
  EXPECT_TRUE(fails_run(result("g/legal-value"), false)) << "nothing excuses the driver";
}

TEST_F(Conform, NeverPassesASkip) {
  recording_.cases.erase("g/advice");
  recording_.skipped["g/advice"] = "needs devices>=2, there is 1";
  EXPECT_EQ(status("g/advice"), CaseStatus::kNotSupported);
  EXPECT_EQ(result("g/advice").reason, "needs devices>=2, there is 1");
}

TEST_F(Conform, WaivesAndReportsUnexpectedPasses) {
  ASSERT_EQ(waivers_.parse("# known\ng/b* the driver's own reading\n", "w"), "");
  EXPECT_TRUE(result("g/breaks").unexpected_pass);
  recording_.cases["g/breaks"][1] = "CUDA_ERROR_NOT_SUPPORTED";
  EXPECT_EQ(status("g/breaks"), CaseStatus::kWaived);
  EXPECT_EQ(CaseWaivers().parse("\ng/breaks\n", "w"), "w:2:9: expected the reason behind g/breaks");
}

TEST_F(Conform, FailsTheCasesOfAFamilyWhoseLegalCallFails) {
  const auto families = parse_families(
      "family cuMemMap\ngiven\n init()\ncall cuMemMap(ptr=0, size=2M, handle=5, flags=0)\n"
      "break cuMemMap-flags-zero: flags=1\n");
  ASSERT_TRUE(families.errors.empty());
  cases_ = single_cases(families.families);
  recording_.cases["cuMemMap/legal"] = {"CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"};
  recording_.cases["cuMemMap/flags-zero"] = {"CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"};
  EXPECT_EQ(status("cuMemMap/flags-zero"), CaseStatus::kFail);
  recording_.cases["cuMemMap/legal"][1] = "CUDA_SUCCESS";
  EXPECT_EQ(status("cuMemMap/flags-zero"), CaseStatus::kPass);
}

TEST_F(Conform, WritesEvidence) {
  recording_.cases["g/breaks"][1] = "CUDA_ERROR_NOT_SUPPORTED";
  recording_.gpu = "A <GPU> & \"more\"";
  const auto results = judge_cases({&cases_, &recording_, nullptr, nullptr});
  const auto json = nlohmann::json::parse(conform_json(recording_, results));
  EXPECT_EQ(json["counts"]["deviation"], 1);
  EXPECT_EQ(json["cases"][0]["statements"][1]["observed"], "CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_EQ(json["cases"][0]["statements"][1]["expected"], "CUDA_ERROR_INVALID_VALUE");
  EXPECT_TRUE(parse_program(json["cases"][0]["program"].get<std::string>()).errors.empty());
  const std::string junit = conform_junit(recording_, results, true);
  EXPECT_THAT(junit, HasSubstr("A &lt;GPU&gt; &amp; &quot;more&quot;"));
  EXPECT_THAT(junit, HasSubstr("failures=\"1\""));
  EXPECT_THAT(conform_junit(recording_, results, false), HasSubstr("failures=\"0\""));
}

TEST(Suite, IsTheFolder) {
  const Suite built_in = load_suite("", true);
  const Suite folder = load_suite(CUVMM_SUITE, true);
  ASSERT_TRUE(built_in.errors.empty()) << built_in.errors[0];
  ASSERT_TRUE(folder.errors.empty()) << folder.errors[0];
  ASSERT_EQ(built_in.cases.size(), folder.cases.size());
  for (std::size_t i = 0; i < folder.cases.size(); ++i) {
    EXPECT_EQ(built_in.cases[i].name, folder.cases[i].name);
    EXPECT_EQ(built_in.cases[i].program, folder.cases[i].program);
  }
}

// A family breaks every rule in scope, or a case if no family can. A rule that neither can break is
// among the survivors of the mutation test, with the reason, because the suite would not notice a
// wrong code for it.
TEST(Suite, BreaksEveryRule) {
  std::set<Rule> broken;
  const Suite suite = load_suite("", false);
  for (const Family& family : suite.families) {
    for (const Break& b : family.breaks) broken.insert(b.rule);
  }
  for (const Case& each : suite.cases) {
    for (const std::string& id : each.breaks) broken.insert(*find_rule(id));
  }
  const std::string file = CUVMM_SUITE "/mutation/mutation_survivors.txt";
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const ParsedExplanations explained = parse_explanations(text, file);
  ASSERT_TRUE(explained.errors.empty()) << explained.errors[0];
  ASSERT_FALSE(explained.reasons.empty());
  for (const RuleInfo& rule : rules()) {
    if (rule.uncheckable || rule.kind == RuleKind::kLeak) continue;  // leaks show at process exit
    EXPECT_TRUE(broken.contains(rule.rule) || explained.reasons.contains({rule.id, "code"}))
        << rule.id << " is broken by no family and no case; conformance/families/"
        << cuvmm::area(rule.rule) << ".family is the place";
  }
  EXPECT_TRUE(broken.contains(Rule::kDriverInitialized));
}

TEST(Explanations, AReasonIsAboutTheLinesBelowIt) {
  const ParsedExplanations two = parse_explanations(
      "# A comment.\nreason: No case has a pool.\ncuMemMap-vacant code\ncuMemFree-idle both\n",
      "f");
  EXPECT_TRUE(two.errors.empty());
  EXPECT_EQ(two.reasons.size(), 3u);
  EXPECT_EQ(two.reasons.at({"cuMemFree-idle", "remove"}), "No case has a pool.");
  for (const std::string wrong : {"cuMemMap-vacant code", "reason: R.\ncuMemMap-vacant late",
                                  "reason: R.\ncuMemMap-vacant code R."}) {
    EXPECT_EQ(parse_explanations(wrong, "f").errors.size(), 1u) << wrong;
  }
}

}  // namespace
}  // namespace cuvmm::conformance
