// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/known_facts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "conformance/run/conform.h"
#include "conformance/suite/suite.h"

namespace cuvmm::conformance {
namespace {

Recording recorded(const std::string& name) {
  std::ifstream in(std::string(CUVMM_RECORDED) + "/" + name + ".json");
  std::ostringstream text;
  text << in.rdbuf();
  const auto recording = parse_recording(text.str());
  EXPECT_TRUE(recording) << name;
  return recording.value_or(Recording{});
}

TEST(KnownFacts, ParsesLinesAndSaysWhatIsWrong) {
  KnownFacts facts;
  ASSERT_EQ(facts.parse("# a comment\n\ng/x:2 | CUDA_SUCCESS =0 | it takes it\n", "f"), "");
  EXPECT_EQ(facts.reason("g/x", 1, "CUDA_SUCCESS =0"), "it takes it");
  EXPECT_EQ(facts.reason("g/x", 1, "CUDA_SUCCESS =1"), "");
  ASSERT_EQ(facts.parse("g/x:2 | CUDA_SUCCESS =1 | or this\n", "f"), "");
  EXPECT_EQ(facts.reason("g/x", 1, "CUDA_SUCCESS =0"), "it takes it");
  EXPECT_EQ(facts.reason("g/x", 1, "CUDA_SUCCESS =1"), "or this");
  EXPECT_EQ(facts.reason("g/x", 1, "CUDA_SUCCESS =2"), "");
  EXPECT_EQ(facts.reason("g/x", 0, "CUDA_SUCCESS =0"), "");
  EXPECT_EQ(facts.reason("g/y", 1, "CUDA_SUCCESS =0"), "");
  for (const char* line : {"g/x", "g/x:2", "g/x:2 | CUDA_SUCCESS", "g/x:2 | | why", "g/x | A | why",
                           "g/x:0 | A | why", "g/x:b | A | why", "g/x:2 | A |", ":2 | A | why"}) {
    EXPECT_EQ(KnownFacts().parse("\n" + std::string(line) + "\n", "f"),
              "f:2:1: expected CASE:STATEMENT | ANSWER | REASON")
        << line;
  }
}

TEST(KnownFacts, MakeAFailureAKnownDeviationAndNothingElseOne) {
  const auto cases = parse_cases(
                         "case g/two\ninit()\nsame(1, 1)  # CUDA_SUCCESS =1\n"
                         "same(1, 1)  # CUDA_SUCCESS =1\n",
                         "f")
                         .cases;
  KnownFacts facts;
  ASSERT_EQ(facts.parse("g/two:2 | CUDA_SUCCESS =0 | so it is\n", "f"), "");
  Recording recording;
  const auto judged = [&](const char* second, const char* third) {
    recording.cases["g/two"] = {"CUDA_SUCCESS", second, third};
    return judge_cases({&cases, &recording, nullptr, nullptr, &facts}).at(0);
  };
  EXPECT_EQ(judged("CUDA_SUCCESS =0", "CUDA_SUCCESS =1").status, CaseStatus::kDeviation);
  EXPECT_TRUE(judged("CUDA_SUCCESS =0", "CUDA_SUCCESS =1").known);
  EXPECT_TRUE(judged("CUDA_SUCCESS =0", "CUDA_SUCCESS =1").reason.ends_with(": so it is"));
  EXPECT_EQ(judged("CUDA_SUCCESS =0", "CUDA_SUCCESS =0").status, CaseStatus::kFail);
  EXPECT_EQ(judged("CUDA_SUCCESS =7", "CUDA_SUCCESS =1").status, CaseStatus::kFail);
}

const char* const kRecordings[] = {"h200-580.159.04", "h200-580.159.04-x2", "h100-580.159.04"};

// Every fact is in a recording, and every recorded answer that is not as documented is known.
TEST(KnownFacts, AreThoseOfTheRecordingsNoMoreAndNoLess) {
  const Suite suite = load_suite("", true);
  const KnownFacts facts = known_facts("580.159.04");
  ASSERT_FALSE(facts.all().empty());
  std::set<std::pair<std::string, std::size_t>> seen;
  for (const char* name : kRecordings) {
    const Recording recording = recorded(name);
    const auto profile = known_profile(recording);
    ASSERT_TRUE(profile) << name;
    for (const CaseResult& result :
         judge_cases({&suite.cases, &recording, &*profile, nullptr, &facts})) {
      EXPECT_NE(result.status, CaseStatus::kFail)
          << name << " " << result.test_case->name << ": " << result.reason;
      const bool differs =
          result.status != CaseStatus::kPass && result.status != CaseStatus::kNotSupported;
      EXPECT_TRUE(!differs || result.known)
          << name << " " << result.test_case->name << ": " << result.reason;
    }
    for (const auto& [place, fact] : facts.all()) {
      const auto answers = recording.cases.find(place.first);
      if (answers != recording.cases.end() && place.second < answers->second.size() &&
          answers->second[place.second] == fact.answer)
        seen.insert(place);
    }
  }
  for (const auto& [place, fact] : facts.all()) {
    if (fact.reason.ends_with("(2026-11-29)")) continue;  // of a later run
    EXPECT_TRUE(seen.contains(place)) << place.first << ": no recording has " << fact.answer;
  }
}

TEST(KnownFacts, OfADriverHoldOnItsOtherGpus) {
  Recording recording;
  recording.driver_version = "580.159.04";
  recording.gpu = "NVIDIA H100 80GB HBM3";
  const auto profile = known_profile(recording);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->name, "h100-580.159.04");
  recording.gpu = "NVIDIA GPU that no profile names";
  const auto other = known_profile(recording);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->name, "h200-580.159.04");
  recording.driver_version = "1.2.3";
  EXPECT_FALSE(known_profile(recording));
}

}  // namespace
}  // namespace cuvmm::conformance
