// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/conform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "conformance/run/conform_report.h"
#include "conformance/suite/family_cases.h"
#include "conformance/suite/suite.h"

namespace cuvmm {
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

// Rules that no family can provoke, and where they are tested instead.
const std::map<std::string, std::string> kWithoutFamily = {
    {"driver-initialized", "a family starts with init(); cases/init.cuvmm calls before it"},
    {"driver-not-deinitialized", "no program outlives the driver: it answers only in destructors"},
    {"cuMulticastCreate-supported", "needs exactly one device; cases/multicast.cuvmm breaks it"},
    {"cuMulticastAddDevice-supported", "needs devices of which only some support multicast"},
    {"cuMulticastCreate-size-recommended", "recommended and minimum granularity are the same"},
    {"multicast-bind-recommended", "recommended and minimum granularity are the same"},
    {"cuMemSetAccess-peer-reachable", "needs two devices that cannot reach each other"},
    {"cuExternalMemoryGetMappedBuffer-inside-object",
     "needs an import of the wrong size, forbidden by itself"},
    {"data-external-memory-alive",
     "of every entry point; ext/destroy-with-buffer-then-use breaks it"},
    {"cuIpcGetMemHandle-freed-after-close",
     "takes two processes; tools/report/ipc_order_test.cc does"},
    {"cuIpcOpenMemHandle-peer", "needs two devices that cannot reach each other"},
    {"cuIpcOpenMemHandle-one-context", "needs a second context, which no program text makes"},
    {"data-fill-device", "needs two devices; multi/fill-of-a-buffer breaks it"},
    {"data-fill-aligned",
     "of cuMemsetD16 and cuMemsetD32, which have no family; data/memset-d16-odd breaks it"},
    {"cuMemPoolDestroy-pointers-freed",
     "takes a pool of another process; x-pool/destroy-with-pointer breaks it"},
    {"cuMemPoolImportPointer-host-once",
     "takes a pool on the host of another process; x-pool/host-numa-twice breaks it"},
    {"cuMemPoolCreate-fabric-channel", "the machine decides; pool/create-fabric asks"},
    {"cuMemGetHandleForAddressRange-device-memory",
     "takes other memory behind the range; dmabuf/host-memory breaks it"},
    {"cuMemGetHandleForAddressRange-not-compressed",
     "takes other memory behind the range; dmabuf/compressed breaks it"},
};

// Entry points of which no program text can make a legal call: another API makes semaphores, and
// nothing in the vocabulary makes arrays. Hand-written cases break their rules.
bool without_legal_call(const RuleInfo& rule) {
  const std::string area = cuvmm::area(rule.rule);
  return area == "external_semaphore" || area == "map_array" ||
         rule.entry == EntryPoint::kExternalMemoryGetMappedMipmappedArray;
}
// Of those, the ones that cases cannot break either; rulebook/check_*_test.cc and the emulator's
// tests do.
const std::set<std::string> kWithoutCase = {
    "cuExternalMemoryGetMappedMipmappedArray-not-dma-buf",
    "cuExternalMemoryGetMappedMipmappedArray-nvscibuf-one-level",
    "cuSignalExternalSemaphoresAsync-semaphore-alive",
    "cuSignalExternalSemaphoresAsync-flags",
    "cuSignalExternalSemaphoresAsync-value-increases",
    "cuWaitExternalSemaphoresAsync-semaphore-alive",
    "cuWaitExternalSemaphoresAsync-flags",
    "cuDestroyExternalSemaphore-once",
};

// Every rule in scope has a family that breaks it, and hence a near miss: the legal call.
TEST(Suite, BreaksEveryRule) {
  std::set<Rule> broken, by_hand;
  const Suite suite = load_suite("", false);
  for (const Family& family : suite.families) {
    for (const Break& b : family.breaks) broken.insert(b.rule);
  }
  for (const Case& each : suite.cases) {
    for (const std::string& id : each.breaks) by_hand.insert(*find_rule(id));
  }
  for (const RuleInfo& rule : rules()) {
    if (rule.uncheckable || rule.kind == RuleKind::kLeak) continue;  // leaks show at process exit
    if (without_legal_call(rule)) {
      EXPECT_NE(by_hand.contains(rule.rule), kWithoutCase.contains(rule.id)) << rule.id;
      continue;
    }
    const auto excused = kWithoutFamily.find(rule.id);
    EXPECT_EQ(broken.contains(rule.rule), excused == kWithoutFamily.end())
        << rule.id << (excused == kWithoutFamily.end() ? ": no family breaks it" : ": excused");
  }
  EXPECT_TRUE(by_hand.contains(Rule::kDriverInitialized));
}

}  // namespace
}  // namespace cuvmm
