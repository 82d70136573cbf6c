// SPDX-License-Identifier: Apache-2.0
// Compares the emulator with the corpus: strictly with the profile `documented`, and with the
// recorded GPU's answers with the GPU's profile.
#include <fstream>
#include <sstream>

#include "api/driver/driver.h"
#include "conformance/run/testing.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::conformance {
namespace {
using testing_support::code_of;
using testing_support::corpus;
using testing_support::only_advice;

// Whether the documentation allows this answer to the statement.
bool allowed(const Statement& statement, const std::string& outcome) {
  const std::string code = code_of(outcome);
  if (only_advice(statement)) {
    // Advice does not forbid the call, so the call may succeed, fail with the code of the rule, or
    // run out of memory.
    if (code == "CUDA_SUCCESS" || code == "CUDA_ERROR_OUT_OF_MEMORY") return true;
    for (const std::string& id : statement.breaks) {
      if (code == result_name(info(*find_rule(id)).code)) return true;
    }
    return false;
  }
  if (code != result_name(expected_result(statement))) return false;
  return statement.expected_value.empty() || outcome == code + " =" + statement.expected_value;
}

class Documented : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    answers_ = testing_support::run_corpus({{"CUVMM_PROFILE", "documented"}}, CUVMM_EMULATOR);
  }
  static inline Recording answers_;
};

TEST_P(Documented, AnswersAsDocumented) {
  const auto& statements = GetParam().program.statements;
  const auto& outcomes = answers_.cases[GetParam().name];
  ASSERT_EQ(outcomes.size(), statements.size());
  for (std::size_t i = 0; i < statements.size(); ++i) {
    EXPECT_TRUE(allowed(statements[i], outcomes[i]))
        << GetParam().file << ":" << statements[i].line << ": " << print(statements[i])
        << "\n  answered " << outcomes[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Documented, ::testing::ValuesIn(corpus()),
                         testing_support::test_name);

class LikeTheGpu : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    answers_ = testing_support::run_corpus({{"CUVMM_PROFILE", "h200-580.159.04"}}, CUVMM_EMULATOR);
    // One file has the cases of one GPU, another those of two GPUs; either may be missing.
    for (const char* name : {"h200-580.159.04.json", "h200-580.159.04-x2.json"}) {
      std::ifstream in(std::string(CUVMM_RECORDED) + "/" + name);
      std::ostringstream text;
      text << in.rdbuf();
      if (const auto recording = parse_recording(text.str())) {
        for (const auto& [case_name, outcomes] : recording->cases)
          recorded_.try_emplace(case_name, outcomes);
      }
    }
  }
  static inline Recording answers_;
  static inline std::map<std::string, std::vector<std::string>> recorded_;
};

// A real driver crashes where the emulator answers the documented code. The recording does not show
// what the process would have done after that.
bool died(const std::string& outcome) {
  return outcome.starts_with("signal:") || outcome == "timeout" || outcome.starts_with("exit:");
}

TEST_P(LikeTheGpu, AnswersAsRecorded) {
  const auto recorded = recorded_.find(GetParam().name);
  if (recorded == recorded_.end()) {
    GTEST_SKIP() << "no recorded answer: run cuvmm-record on the GPU, see docs/cases.md";
  }
  const auto& statements = GetParam().program.statements;
  const auto& outcomes = answers_.cases[GetParam().name];
  ASSERT_EQ(outcomes.size(), statements.size());
  ASSERT_EQ(recorded->second.size(), statements.size())
      << "the case has changed since it was recorded";
  for (std::size_t i = 0; i < statements.size(); ++i) {
    // The machine decides which device files exist, not the driver.
    if (statements[i].function == "open") continue;
    const std::string& real = recorded->second[i];
    const bool crash = died(real);
    EXPECT_EQ(outcomes[i], crash ? result_name(expected_result(statements[i])) : real)
        << GetParam().file << ":" << statements[i].line << ": " << print(statements[i]);
    if (crash) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LikeTheGpu, ::testing::ValuesIn(corpus()),
                         testing_support::test_name);

}  // namespace
}  // namespace cuvmm::conformance
