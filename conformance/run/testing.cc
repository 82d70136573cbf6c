// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/testing.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::conformance::testing_support {

const std::vector<Case>& corpus() {
  static const std::vector<Case> kCases = [] {
    ParsedCases parsed = load_cases({CUVMM_CASES});
    for (const std::string& error : parsed.errors) std::cerr << error << "\n";
    if (!parsed.errors.empty() || parsed.cases.empty()) std::abort();
    return std::move(parsed.cases);
  }();
  return kCases;
}

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name;
  for (char c : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else {
      name += c == '+' ? "plus" : c == '^' ? "to" : c == '-' ? "_" : "__";
    }
  }
  return name;
}

std::string run_recorder(const Environment& environment, const std::string& arguments) {
  std::string command = "env";
  for (const auto& [name, value] : environment) command += " " + name + "='" + value + "'";
  command += " " CUVMM_RECORD " " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {};
  std::string text;
  char buffer[4096];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, got);
  if (pclose(pipe) != 0) ADD_FAILURE() << command << " failed";
  return text;
}

Recording run_corpus(const Environment& environment, const std::string& driver) {
  Recording joined;
  for (const char* devices : {"1", "2"}) {
    Environment with_devices = environment;
    with_devices["CUVMM_DEVICES"] = devices;
    with_devices["CUVMM_MULTICAST_TIMEOUT_MS"] = "50";  // no other process will join the team
    // A second case on one core costs nothing, because a case mostly waits.
    const auto recording = parse_recording(run_recorder(
        with_devices, "--process-ids --jobs 4 --driver '" + driver + "' " CUVMM_CASES));
    if (!recording) {
      ADD_FAILURE() << "cuvmm-record wrote no recording";
      return joined;
    }
    if (joined.cases.empty()) joined = *recording;
    for (const Case& test_case : corpus()) {
      const bool needs_two =
          !unmet_need(test_case, Machine{.devices = 1, .multicast = true, .managed = true}).empty();
      const auto found = recording->cases.find(test_case.name);
      if (found == recording->cases.end() || needs_two != (*devices == '2')) continue;
      joined.cases[test_case.name] = found->second;
      joined.processes[test_case.name] = recording->processes.at(test_case.name);
    }
  }
  return joined;
}

Waivers::Waivers(const std::string& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, reason;
    if (!(words >> name) || name[0] == '#') continue;
    std::getline(words >> std::ws, reason);
    reasons_[name] = reason;
  }
}

std::string Waivers::reason(const std::string& name) const {
  const auto found = reasons_.find(name);
  return found == reasons_.end() ? "" : found->second;
}

void Waivers::judge(const std::string& name, const std::string& mistakes) const {
  const auto found = reasons_.find(name);
  if (found == reasons_.end()) {
    EXPECT_EQ(mistakes, "") << name;
  } else if (mistakes.empty()) {
    ADD_FAILURE() << name << " is waived (" << found->second << ") but passes: remove the waiver";
  } else {
    std::cout << "waived: " << name << ": " << found->second << "\n" << mistakes;
  }
}

bool only_advice(const Statement& statement) {
  for (const std::string& id : statement.breaks) {
    const auto rule = find_rule(id);
    if (!rule || info(*rule).kind != RuleKind::kAdvice) return false;
  }
  return !statement.breaks.empty();
}

std::string code_of(const std::string& outcome) { return outcome.substr(0, outcome.find(" =")); }

}  // namespace cuvmm::conformance::testing_support
