// SPDX-License-Identifier: Apache-2.0
// The cases of conformance/late: the answers of a driver when a call takes memory away from work
// that a stream still has, on the emulator with late streams; and the shim must name the misuse. A
// recording of a GPU must have equal answers, except where a reason stands beside the answer.
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "conformance/run/known_facts.h"
#include "conformance/run/testing.h"
#include "conformance/suite/case.h"

namespace cuvmm::conformance {
namespace {
namespace fs = std::filesystem;
using testing_support::code_of;
using testing_support::Environment;
using testing_support::run_recorder;

const std::string kRecorded = CUVMM_LATE_CASES "/h200-580.159.04";

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const std::vector<Case>& late_cases() {
  static const std::vector<Case> kCases = [] {
    ParsedCases parsed = load_cases({CUVMM_LATE_CASES});
    for (const std::string& error : parsed.errors) std::cerr << error << "\n";
    if (!parsed.errors.empty() || parsed.cases.empty()) std::abort();
    return std::move(parsed.cases);
  }();
  return kCases;
}

Recording record(Environment environment, const std::string& driver) {
  environment["CUVMM_STREAMS"] = "late";
  environment["CUVMM_PROFILE"] = "h200-580.159.04";
  const auto recording = parse_recording(
      run_recorder(environment, "--process-ids --driver '" + driver + "' " CUVMM_LATE_CASES));
  EXPECT_TRUE(recording) << "cuvmm-record wrote no recording";
  return recording.value_or(Recording{});
}

// A driver may answer differently where `known` has the reason.
void expect_answers(const Case& test_case, const Recording& answers,
                    const KnownFacts* known = nullptr) {
  const auto found = answers.cases.find(test_case.name);
  const bool excused = found == answers.cases.end() && known &&
                       !known->reason(test_case.name, 0, "not-recorded").empty();
  if (excused) GTEST_SKIP() << "no GPU was asked yet";
  ASSERT_NE(found, answers.cases.end());
  const auto& statements = test_case.program.statements;
  ASSERT_EQ(found->second.size(), statements.size());
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (known && !known->reason(test_case.name, i, found->second[i]).empty()) continue;
    EXPECT_EQ(code_of(found->second[i]), result_name(expected_result(statements[i])))
        << test_case.file << ":" << statements[i].line << ": " << print(statements[i]);
  }
}

class Late : public ::testing::TestWithParam<Case> {};

TEST_P(Late, TheEmulatorAnswersAsExpected) {
  static const Recording kAnswers = record({}, CUVMM_EMULATOR);
  expect_answers(GetParam(), kAnswers);
}

TEST_P(Late, ARecordedGpuAnsweredAsExpected) {
  const auto recording = parse_recording(read_file(CUVMM_RECORDED "/../late/h200-580.159.04.json"));
  ASSERT_TRUE(recording);
  KnownFacts facts;
  ASSERT_EQ(facts.parse(read_file(kRecorded + ".known"), kRecorded + ".known"), "");
  expect_answers(GetParam(), *recording, &facts);
}

// Rule ids by process, from every report of the folder. Reports are named PID-UNIQUE.json.
std::map<int, std::set<std::string>> rules_of_reports(const fs::path& folder) {
  std::map<int, std::set<std::string>> rules;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    const auto report = nlohmann::json::parse(in, nullptr, false);
    EXPECT_TRUE(report.is_object()) << entry.path();
    if (!report.is_object()) continue;
    auto& found = rules[std::atoi(entry.path().filename().c_str())];
    for (const auto& finding : report["findings"]) {
      if (finding["kind"] != "leak") found.insert(finding["rule"].get<std::string>());
    }
  }
  return rules;
}

class LateShim : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    char folder[] = "/tmp/cuvmm-late-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    answers_ = record({{"LD_PRELOAD", CUVMM_SHIM},
                       {"CUVMM_DRIVER", CUVMM_EMULATOR},
                       {"CUVMM_REPORT_DIR", folder},
                       {"CUVMM_QUIET", "1"},
                       {"CUVMM_LEAK_CHECK", "no"},
                       {"CUVMM_NO_SYMBOLS", "1"}},
                      "libcuda.so.1");
    reports_ = rules_of_reports(folder);
    fs::remove_all(folder);
  }
  static inline Recording answers_;
  static inline std::map<int, std::set<std::string>> reports_;
};

TEST_P(LateShim, NamesTheRulesThatAreBroken) {
  std::set<std::string> found;
  bool reported = false;
  for (const int pid : answers_.processes[GetParam().name]) {
    const auto report = reports_.find(pid);
    if (report == reports_.end()) continue;
    reported = true;
    found.insert(report->second.begin(), report->second.end());
  }
  ASSERT_TRUE(reported) << "no process of the case left a report";
  EXPECT_EQ(found, std::set<std::string>(GetParam().breaks.begin(), GetParam().breaks.end()));
}

TEST_P(LateShim, ChangesNoAnswer) { expect_answers(GetParam(), answers_); }

INSTANTIATE_TEST_SUITE_P(Cases, Late, ::testing::ValuesIn(late_cases()),
                         testing_support::test_name);
INSTANTIATE_TEST_SUITE_P(Cases, LateShim, ::testing::ValuesIn(late_cases()),
                         testing_support::test_name);

}  // namespace
}  // namespace cuvmm::conformance
