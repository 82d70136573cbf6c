// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/case.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "api/driver/driver.h"
#include "api/multicast.h"
#include "conformance/record/record.h"
#include "conformance/run/testing.h"
#include "conformance/suite/family_cases.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::conformance {
namespace {

TEST(ParseCases, ReadsHeaderAndStatements) {
  const ParsedCases parsed = parse_cases(
      "# group\ncase a/b\nbreaks x y\nneeds devices>=2 fabric_channel=0\ninit()\n"
      "cuMemRelease(0)  # CUDA_ERROR_INVALID_VALUE !x !y\n\ncase a/c\ninit()\n",
      "f");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  ASSERT_EQ(parsed.cases.size(), 2u);
  EXPECT_EQ(parsed.cases[0].name, "a/b");
  EXPECT_EQ(parsed.cases[0].breaks, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(parsed.cases[0].needs[0], (Need{Need::What::kDevices, true, 2}));
  EXPECT_EQ(parsed.cases[0].program.statements[1].line, 6);
  EXPECT_EQ(unmet_need(parsed.cases[0], {.devices = 1}), "needs devices>=2, there is 1");
  EXPECT_EQ(unmet_need(parsed.cases[0], {.devices = 3}), "");
  EXPECT_EQ(unmet_need(parsed.cases[0], {.devices = 2, .fabric_channel = true}),
            "needs fabric_channel=0, there is 1");
}

// The suite's cases with a call that the gate in api/multicast.h keeps from real drivers.
std::vector<Case> gated_cases(std::set<std::string>& functions) {
  std::vector<Case> cases = testing_support::corpus();
  const LoadedFamilies families = load_families({CUVMM_FAMILIES});
  EXPECT_TRUE(families.errors.empty());
  for (Case& test_case : single_cases(families.families)) cases.push_back(std::move(test_case));
  std::erase_if(cases, [&](const Case& test_case) {
    bool gated = false;
    for (const Statement& statement : test_case.program.statements) {
      if (!can_multicast(statement.function)) continue;
      gated = true;
      functions.insert(statement.function);
    }
    return !gated;
  });
  return cases;
}

// Records these cases on a driver that is neither the emulator nor cuvmm's shim.
TEST(Record, NoMarkedCallReachesAForeignDriver) {
  const std::string log = testing::TempDir() + "cuvmm-gate-" + std::to_string(getpid());
  setenv("FOREIGN_DRIVER_LOG", log.c_str(), 1);
  std::set<std::string> functions;
  const std::vector<Case> cases = gated_cases(functions);
  for (std::size_t i = 0; i < static_cast<std::size_t>(EntryPoint::kCount); ++i) {
    const auto entry = static_cast<EntryPoint>(i);
    if (can_multicast(entry)) {
      EXPECT_TRUE(functions.contains(name(entry))) << name(entry) << " is in no case";
    }
  }
  RecordOptions options;
  const RecordResult careful = record_cases(CUVMM_FOREIGN_DRIVER, cases, options);
  EXPECT_EQ(careful.error, "");
  EXPECT_EQ(careful.recording.skipped.size(), cases.size());
  EXPECT_TRUE(careful.recording.cases.empty());
  EXPECT_FALSE(std::ifstream(log).is_open()) << "a call reached the driver";
  // Shows that the driver would have noticed: with the option, one call of each function reaches
  // it.
  std::set<std::string> wanted = functions;
  std::vector<Case> few;
  for (const Case& test_case : cases) {
    std::size_t before = wanted.size();
    for (const Statement& statement : test_case.program.statements)
      wanted.erase(statement.function);
    if (wanted.size() < before &&
        unmet_need(test_case, {.devices = 2, .multicast = true}).empty()) {
      few.push_back(test_case);
    }
  }
  options.allow_multicast = true;
  record_cases(CUVMM_FOREIGN_DRIVER, few, options);
  EXPECT_TRUE(std::ifstream(log).is_open());
  unlink(log.c_str());
  unsetenv("FOREIGN_DRIVER_LOG");
}

// Nobody can forget the need: a case with a call that the gate stops is skipped unless the user
// allows multicast.
TEST(ParseCases, MulticastIsNeededByWhoeverCallsIt) {
  const ParsedCases parsed = parse_cases(
      "case a\ninit()\nm0 = cuMulticastCreate({numDevices=1, size=2M})\n"
      "case b\nneeds multicast\ninit()\ncase c\ninit()\n",
      "f");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  for (const std::size_t needing : {0, 1}) {
    EXPECT_EQ(unmet_need(parsed.cases[needing], {.devices = 8}),
              "needs multicast, which is kept from this driver without --allow-multicast");
    EXPECT_EQ(unmet_need(parsed.cases[needing], {.devices = 8, .multicast = true}), "");
    EXPECT_EQ(parsed.cases[needing].needs.size(), 1u);
  }
  EXPECT_EQ(unmet_need(parsed.cases[2], {.devices = 8}), "");
}

// The suite makes no managed memory on a real GPU, so such a case needs the emulator.
TEST(ParseCases, ManagedMemoryIsNeededByWhoeverMakesIt) {
  const ParsedCases parsed = parse_cases(
      "case pool\ninit()\no0 = cuMemPoolCreate({allocType=managed})\n"
      "case number\ninit()\no0 = cuMemPoolCreate({allocType=1+1, location=host})\n"
      "case default\ninit()\no0 = cuMemGetDefaultMemPool(host, managed)\n"
      "case current\ninit()\no0 = cuMemGetMemPool(host, 2)\n"
      "case set\ninit()\ncuMemSetMemPool(host, managed, 0)\n"
      "case said\nneeds managed\ninit()\n"
      "case pinned\ninit()\no0 = cuMemPoolCreate({allocType=pinned, location=host})\n"
      "o1 = cuMemGetMemPool(host, pinned)\n"
      "case other\ninit()\no0 = cuMemPoolCreate({allocType=0, location=host})\n",
      "f");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  for (const Case& each : parsed.cases) {
    const bool managed = each.name != "pinned" && each.name != "other";
    EXPECT_EQ(unmet_need(each, {.devices = 8}).empty(), !managed) << each.name;
    EXPECT_EQ(unmet_need(each, {.devices = 8, .managed = true}), "") << each.name;
  }
}

TEST(ParseCases, ADriverMayBeTooOld) {
  const ParsedCases parsed = parse_cases("case a\nneeds cuda>=13040\ninit()\n", "f");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  EXPECT_EQ(unmet_need(parsed.cases[0], {.devices = 1, .cuda = 13000}),
            "needs cuda>=13040, there is 13000");
  EXPECT_EQ(unmet_need(parsed.cases[0], {.devices = 1, .cuda = 13040}), "");
}

TEST(ParseCases, ReportsEveryMistake) {
  const ParsedCases parsed = parse_cases(
      "init()\ncase a\nneeds devices\ninit(\ncuMemRelease(h)\ncase a\nbreaks x\ninit()\n", "f");
  EXPECT_EQ(
      parsed.errors,
      (std::vector<std::string>{
          "f:1:1: expected 'case NAME', found 'init()'",
          "f:3:7: expected devices=N, devices>=N, fabric_channel=N, cuda>=N, managed or multicast, "
          "found 'devices'",
          "f:4:6: expected a value, found end of line",
          "f:5:14: expected a name that an earlier statement binds, found 'h'",
          "f:6:6: expected a name that no other case has, found 'a'",
          "f:6:1: expected 'breaks' to name the rules of the case's lines, and no other"}));
}

TEST(Corpus, NamesRulesOfTheCatalogue) {
  for (const Case& test_case : testing_support::corpus()) {
    for (const std::string& id : test_case.breaks) {
      EXPECT_TRUE(find_rule(id)) << test_case.name << ": " << id;
    }
  }
}

// The first rule that a statement breaks decides its code; advice alone decides none.
TEST(Corpus, ExpectsTheCodesOfTheCatalogue) {
  for (const Case& test_case : testing_support::corpus()) {
    for (const Statement& statement : test_case.program.statements) {
      if (statement.breaks.empty()) continue;
      bool fits =
          testing_support::only_advice(statement) && expected_result(statement) == CUDA_SUCCESS;
      for (const std::string& id : statement.breaks) {
        const auto rule = find_rule(id);
        if (rule && info(*rule).code == expected_result(statement)) fits = true;
      }
      EXPECT_TRUE(fits) << test_case.name << ": " << print(statement);
    }
  }
}

TEST(Recording, ReadsBackTheSame) {
  Recording recording;
  recording.driver = "/lib/libcuda.so.1";
  recording.gpu = "a GPU";
  recording.devices = 2;
  recording.cases["a/b"] = {"CUDA_SUCCESS =3", "signal:SIGSEGV"};
  recording.cases["a/c"] = {};
  recording.skipped["a/d"] = "needs devices>=2, there is 1";
  const auto read = parse_recording(format_recording(recording));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->gpu, recording.gpu);
  EXPECT_EQ(read->cases, recording.cases);
  EXPECT_EQ(read->skipped, recording.skipped);
  EXPECT_FALSE(parse_recording("{\"schema\":1}"));
  EXPECT_FALSE(parse_recording("nonsense"));
}

}  // namespace
}  // namespace cuvmm::conformance
