// SPDX-License-Identifier: Apache-2.0
// Runs the corpus on the shim over the emulator: each case yields the rules that it breaks and no
// other rules. With enforcement the documented code comes back.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/driver/driver.h"
#include "conformance/run/testing.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::conformance {
namespace {
namespace fs = std::filesystem;
using testing_support::code_of;
using testing_support::corpus;

testing_support::Environment shim_environment(const std::string& folder) {
  return {{"LD_PRELOAD", CUVMM_SHIM},
          {"CUVMM_DRIVER", CUVMM_EMULATOR},
          {"CUVMM_REPORT_DIR", folder},
          {"CUVMM_PROFILE", "h200-580.159.04"},
          {"CUVMM_QUIET", "1"},
          {"CUVMM_LEAK_CHECK", "no"},
          // The tests read rules from a report, not lines, and symbols would take most of the time.
          {"CUVMM_NO_SYMBOLS", "1"}};
}

bool needs(const Case& test_case, Need::What what) {
  return std::ranges::any_of(test_case.needs, [&](const Need& need) { return need.what == what; });
}

// Cases without managed memory, because only the emulator may make managed memory, and the recorder
// does not know which driver is behind a shim.
std::vector<Case> cases_of_shims() {
  std::vector<Case> cases = corpus();
  std::erase_if(cases, [](const Case& each) { return needs(each, Need::What::kManaged); });
  return cases;
}

// Runs the corpus on the recorded driver; the cases that need a newer driver run on a documented
// one.
Recording run_under_shim(testing_support::Environment environment) {
  Recording recorded = testing_support::run_corpus(environment, "libcuda.so.1");
  environment["CUVMM_PROFILE"] = "documented";
  Recording newer = testing_support::run_corpus(environment, "libcuda.so.1");
  for (const Case& each : corpus()) {
    if (!needs(each, Need::What::kCuda)) continue;
    recorded.cases[each.name] = newer.cases[each.name];
    recorded.processes[each.name] = newer.processes[each.name];
  }
  return recorded;
}

// Rule ids by process id, from every report of a folder. Reports are named PID-UNIQUE.json.
std::map<int, std::set<std::string>> read_reports(const fs::path& folder) {
  std::map<int, std::set<std::string>> rules;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    std::ifstream in(entry.path());
    const auto report = nlohmann::json::parse(in, nullptr, false);
    EXPECT_TRUE(report.is_object()) << entry.path();
    if (!report.is_object()) continue;
    rules[pid];
    for (const auto& finding : report["findings"]) {
      if (finding["kind"] != "leak") rules[pid].insert(finding["rule"].get<std::string>());
    }
  }
  return rules;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + word;
  return text;
}

class Shim : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    char folder[] = "/tmp/cuvmm-conformance-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    answers_ = run_under_shim(shim_environment(folder));
    reports_ = read_reports(folder);
    fs::remove_all(folder);
  }
  static inline Recording answers_;
  static inline std::map<int, std::set<std::string>> reports_;
};

TEST_P(Shim, ReportsTheRulesThatAreBroken) {
  const Case& test_case = GetParam();
  std::set<std::string> found;
  bool reported = false;
  for (int pid : answers_.processes[test_case.name]) {
    const auto report = reports_.find(pid);
    if (report == reports_.end()) continue;
    reported = true;
    found.insert(report->second.begin(), report->second.end());
  }
  ASSERT_TRUE(reported) << "no process of the case left a report";
  const std::set<std::string> broken(test_case.breaks.begin(), test_case.breaks.end());
  std::string mistakes;
  if (found != broken)
    mistakes = "expected" + joined(broken) + "\n  reported" + joined(found) + "\n";
  static const testing_support::Waivers waivers(CUVMM_WAIVERS "/shim-report.txt");
  waivers.judge(test_case.name, mistakes);
}

INSTANTIATE_TEST_SUITE_P(Cases, Shim, ::testing::ValuesIn(cases_of_shims()),
                         testing_support::test_name);

class Enforce : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    char folder[] = "/tmp/cuvmm-conformance-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    auto environment = shim_environment(folder);
    environment["CUVMM_ENFORCE"] = "1";
    answers_ = run_under_shim(environment);
    fs::remove_all(folder);
  }
  static inline Recording answers_;
};

TEST_P(Enforce, AnswersTheDocumentedCode) {
  const auto& statements = GetParam().program.statements;
  const auto& outcomes = answers_.cases[GetParam().name];
  ASSERT_EQ(outcomes.size(), statements.size());
  std::string mistakes;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    // Advice is never enforced: the documentation does not forbid it.
    if (statements[i].breaks.empty() || testing_support::only_advice(statements[i])) continue;
    const std::string expected = result_name(expected_result(statements[i]));
    if (code_of(outcomes[i]) != expected) {
      mistakes += "  " + print(statements[i]) + " answered " + outcomes[i] + "\n";
    }
  }
  static const testing_support::Waivers waivers(CUVMM_WAIVERS "/shim-enforce.txt");
  waivers.judge(GetParam().name, mistakes);
}

INSTANTIATE_TEST_SUITE_P(Cases, Enforce, ::testing::ValuesIn(cases_of_shims()),
                         testing_support::test_name);

}  // namespace
}  // namespace cuvmm::conformance
