// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/plan.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "injected_failures/spec.h"
#include "tools/base/temporary_folder.h"
#include "tools/command_line/usage.h"
#include "tools/fail/fail_output.h"
#include "tools/fail/known_trials.h"

namespace cuvmm::tools {
namespace {

using ::testing::HasSubstr;

Json site(const char* call, const char* number, std::uint64_t calls, const char* result,
          bool gives_up = false) {
  return {{"call", call},     {"site", number},       {"calls", calls},
          {"result", result}, {"gives_up", gives_up}, {"stack", Json::array()}};
}

Outcome seen(const Json& sites) {
  Outcome outcome;
  add_log(outcome, {{"pid", 1}, {"sites", sites}});
  return outcome;
}

const Json kSites = Json::array({site("cuMemMap", "0b", 3, "CUDA_ERROR_OUT_OF_MEMORY"),
                                 site("cuMemCreate", "0a", 2, "CUDA_ERROR_OUT_OF_MEMORY"),
                                 site("cuMemUnmap", "0c", 3, "CUDA_ERROR_INVALID_VALUE", true),
                                 site("cuMemPoolGetAccess", "0d", 1, "")});

TEST(Plan, TakesEachPlaceOnceAndLeavesOutWhatGivesUp) {
  const auto sites = call_sites({seen(kSites), seen(kSites)}, {});
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].call, "cuMemCreate");
  EXPECT_EQ(sites[1].call, "cuMemMap");
  EXPECT_EQ(sites[1].calls, 3u);
}

TEST(Plan, CountsTheCallsOfAPlaceInEachProcess) {
  // The log lists two stacks with the same site number, so their calls are calls of one place.
  const Json sites = Json::array({site("cuMemMap", "0b", 3, "CUDA_ERROR_OUT_OF_MEMORY"),
                                  site("cuMemMap", "0b", 2, "CUDA_ERROR_OUT_OF_MEMORY")});
  const auto found = call_sites({seen(sites), seen(kSites)}, {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].calls, 5u);
}

TEST(Plan, TakesWhatIsAskedFor) {
  const auto sites = call_sites({seen(kSites)}, {"cuMemUn*"});
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].call, "cuMemUnmap");
}

TEST(Plan, OnceAndAlwaysForEachPlaceOrCall) {
  const auto sites = call_sites({seen(kSites)}, {});
  const auto places = plan(sites, false);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[0].spec, "cuMemCreate[site=0a]@1=OUT_OF_MEMORY");
  EXPECT_EQ(places[1].spec, "cuMemCreate[site=0a]@1+=OUT_OF_MEMORY");
  EXPECT_EQ(plan(sites, true).size(), 10u);
}

TEST(Plan, ItsTextsAreWhatFailUnderstands) {
  const auto sites = call_sites({seen(kSites)}, {"cuMem*"});
  for (Experiment one : plan(sites, true)) {
    EXPECT_FALSE(injected_failures::parse_spec(one.spec).error) << one.spec;
    one.until = one.number + 3;
    EXPECT_FALSE(injected_failures::parse_spec(spec_of(sites[one.site], one)).error);
  }
}

Results results() {
  Results made;
  made.sites = call_sites({seen(kSites)}, {});
  for (const Experiment& one : plan(made.sites, false)) {
    made.trials.push_back({one, {Verdict::kClean, ""}, true, 0.25});
  }
  made.trials[1].judgement = {Verdict::kLeak, "1 <reservation> & more"};
  return made;
}

CampaignSettings settings() {
  CampaignSettings made;
  made.run.emulate = true;
  made.run.command = {"./app", "it's"};
  return made;
}

TEST(FailOutput, JsonKeepsTheContract) {
  const Json json = campaign_json(settings(), results());
  ASSERT_EQ(json["sites"].size(), 2u);
  const Json& create = json["sites"][0];
  for (const char* key : {"call", "stack", "result", "verdict", "command"}) {
    EXPECT_TRUE(create.contains(key)) << key;
  }
  EXPECT_EQ(create["verdict"], "leak");
  EXPECT_EQ(create["runs"].size(), 2u);
  EXPECT_EQ(json["sites"][1]["verdict"], "clean");
  EXPECT_EQ(json["summary"], Json({{"clean", 1}, {"leak", 1}}));
}

TEST(FailOutput, TheCommandCanBeTyped) {
  EXPECT_EQ(run_line(settings().run, "cuMemCreate[site=0a]@1"),
            "cuvmm run --emulate --fail 'cuMemCreate[site=0a]@1' -- ./app 'it'\\''s'");
}

TEST(FailOutput, JUnitIsEscaped) {
  const std::string xml = campaign_junit(settings(), results());
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("leak: 1 &lt;reservation&gt; &amp; more"));
}

TEST(FailOutput, TheTextNamesTheWorst) {
  const std::string text = campaign_text(settings(), results());
  EXPECT_THAT(text, HasSubstr("leak        cuMemCreate"));
  EXPECT_THAT(text, HasSubstr("2 sites, 4 runs: 1 clean, 1 leak"));
}

TEST(KnownTrials, RemembersWhatWasFound) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/resume";
  const auto made = results();
  {
    KnownTrials known(file, {"./app"});
    EXPECT_EQ(known.find(made.trials[1].experiment.spec), nullptr);
    known.add(made.trials[1]);
    EXPECT_EQ(known.problem(), "");
  }
  std::ofstream(file, std::ios::app) << R"({"spec":"cuMemMap)";  // it was cut off
  const KnownTrials known(file, {"./app"});
  const Trial* trial = known.find(made.trials[1].experiment.spec);
  ASSERT_NE(trial, nullptr);
  EXPECT_EQ(trial->judgement.verdict, Verdict::kLeak);
  EXPECT_EQ(trial->judgement.what, "1 <reservation> & more");
  EXPECT_EQ(known.find("cuMemMap"), nullptr);
}

TEST(KnownTrials, RefusesAnotherProgramsFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/resume";
  { const KnownTrials known(file, {"./app"}); }
  EXPECT_THROW(KnownTrials(file, {"./other"}), UsageError);
  std::ofstream(file) << "something else\n";
  EXPECT_THROW(KnownTrials(file, {"./app"}), UsageError);
}

}  // namespace
}  // namespace cuvmm::tools
