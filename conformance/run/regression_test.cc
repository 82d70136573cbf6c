// SPDX-License-Identifier: Apache-2.0
// Whole runs of the suite on the emulator, pairs included: with the recorded GPU's profile, and
// once more with the profile that the run writes.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "conformance/record/derive_profile.h"
#include "conformance/record/measure_profile.h"
#include "conformance/run/conform.h"
#include "conformance/run/testing.h"
#include "conformance/suite/suite.h"

namespace cuvmm::conformance {
namespace {

const Suite& suite() {
  static const Suite kSuite = load_suite("", true);
  return kSuite;
}

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Recording run(const std::string& profile, int devices) {
  setenv("CUVMM_PROFILE", profile.c_str(), 1);
  setenv("CUVMM_MULTICAST_TIMEOUT_MS", "50", 1);  // no other process will join the team
  setenv("CUVMM_DEVICES", std::to_string(devices).c_str(), 1);
  RecordOptions options;
  options.share = true;
  options.jobs = 2;
  RecordResult result = record_cases(CUVMM_EMULATOR, suite().cases, options);
  EXPECT_EQ(result.error, "");
  return std::move(result.recording);
}

bool died(const std::string& outcome) {
  return outcome.starts_with("signal:") || outcome.starts_with("exit:") || outcome == "timeout";
}

// "NAME: statement: answers A, recorded B" for the first statement that differs; "" for none. After
// a crash the recording has no more answers; the emulator answers the documented code there.
std::string difference(const Case& each, const std::vector<std::string>& now,
                       const std::vector<std::string>& then) {
  const auto& statements = each.program.statements;
  if (then.size() != statements.size()) return each.name + ": changed since it was recorded";
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (died(then[i])) return {};
    if (now[i] != then[i])
      return each.name + ": " + print(statements[i]) + ": answers " + now[i] + ", recorded " +
             then[i];
  }
  return {};
}

class LikeRecorded : public ::testing::TestWithParam<const char*> {};

TEST_P(LikeRecorded, EveryAnswer) {
  const auto recorded = parse_recording(read(std::string(CUVMM_RECORDED) + "/" + GetParam()));
  if (!recorded) GTEST_SKIP() << GetParam() << " is not there";
  CaseWaivers waivers;
  const std::string file = CUVMM_WAIVERS "/recorded.txt";
  ASSERT_EQ(waivers.parse(read(file), file), "");
  const Recording now = run("h200-580.159.04", recorded->devices);
  int compared = 0, different = 0;
  for (const Case& each : suite().cases) {
    const auto then = recorded->cases.find(each.name);
    const auto answers = now.cases.find(each.name);
    if (then == recorded->cases.end() || answers == now.cases.end()) continue;
    ++compared;
    const std::string text = difference(each, answers->second, then->second);
    const std::string reason = waivers.reason(each.name);
    different += !text.empty() && reason.empty();
    EXPECT_TRUE(text.empty() || !reason.empty()) << text;
  }
  EXPECT_GT(compared, 0);
  std::cout << compared << " cases compared, " << different << " differ\n";
}

INSTANTIATE_TEST_SUITE_P(Gpus, LikeRecorded,
                         ::testing::Values("h200-580.159.04.json", "h200-580.159.04-x2.json",
                                           "h100-580.159.04.json"),
                         [](const auto& info) {
                           return info.index == 0 ? "OneGpu" : info.index == 1 ? "TwoGpus" : "H100";
                         });

class WrittenProfile : public ::testing::TestWithParam<const char*> {};

TEST_P(WrittenProfile, GivesTheSameAnswersAgain) {
  const Recording first = run(GetParam(), 2);
  const LoadedDriver loaded = load_driver(CUVMM_EMULATOR);
  ASSERT_EQ(loaded.error, "");
  const Profile base = load_profile("documented").profile;
  const Profile measured = measure_profile(loaded.driver, first, base, "again");
  DerivedProfile derived = derive_profile(measured, suite().families, suite().cases, first);
  const Profile original = load_profile(GetParam()).profile;
  derived.profile.quirks = original.quirks;  // found by fuzzing; no case of the suite shows them
  const std::string path = ::testing::TempDir() + "/again-" + GetParam() + ".toml";
  std::ofstream(path) << format_profile(derived.profile);
  EXPECT_EQ(measured.total_memory, original.total_memory);
  EXPECT_EQ(measured.device_granularity_minimum, original.device_granularity_minimum);
  EXPECT_EQ(measured.platform.max_reservation, original.platform.max_reservation);
  EXPECT_EQ(measured.platform.handle_types, original.platform.handle_types);

  const Recording again = run(path, 2);
  ASSERT_EQ(first.cases.size(), again.cases.size());
  for (const Case& each : suite().cases) {
    const auto answers = again.cases.find(each.name);
    if (answers == again.cases.end()) continue;
    // The profile describes the whole machine, not one with fewer devices.
    if (devices_to_show(each, Machine{.devices = first.devices}) != 0) continue;
    EXPECT_EQ(difference(each, answers->second, first.cases.at(each.name)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, WrittenProfile,
                         ::testing::Values("h200-580.159.04", "documented"),
                         [](const auto& info) { return info.index ? "Documented" : "H200"; });

}  // namespace
}  // namespace cuvmm::conformance
