// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/derive_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuvmm::conformance {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFamilies = R"(
family cuMemMap
given
  init()
  r0 = cuMemAddressReserve(size=16M)
  h0 = cuMemCreate(4M, device=0)
call cuMemMap(ptr=r0, size=4M, offset=0, handle=h0, flags=0)
break cuMemMap-ptr-reserved: ptr=0
break cuMemMap-size-nonzero: size=0
break cuMemMap-offset-zero: offset=2M
break cuMemMap-offset-zero: offset=1
break cuMemMap-flags-zero: flags=1
)";

class DeriveProfile : public ::testing::Test {
 protected:
  DeriveProfile() {
    answer("legal", "CUDA_SUCCESS");
    answer("ptr-reserved", "CUDA_ERROR_INVALID_VALUE");
    answer("size-nonzero", "CUDA_ERROR_OUT_OF_MEMORY");
    answer("offset-zero", "CUDA_ERROR_NOT_SUPPORTED");
    answer("offset-zero~2", "CUDA_ERROR_NOT_SUPPORTED");
    answer("flags-zero", "CUDA_SUCCESS");
  }
  void answer(const std::string& name, const std::string& last) {
    recording_.cases["cuMemMap/" + name] = {"CUDA_SUCCESS", last};
  }
  DerivedProfile derive(const std::vector<Case>& cases = {}) {
    return derive_profile(load_profile("documented").profile, parse_families(kFamilies).families,
                          cases, recording_);
  }
  Recording recording_;
};

TEST_F(DeriveProfile, ReadsVerdictsOffSingles) {
  answer("ptr-reserved", "signal:SIGSEGV");
  const Profile profile = derive().profile;
  const auto verdict = [&](Rule rule) { return profile.verdict(EntryPoint::kMemMap, rule); };
  EXPECT_EQ(verdict(Rule::kMapOffsetZero).code, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(verdict(Rule::kMapFlagsZero).kind, Verdict::Kind::kAccepts);
  EXPECT_EQ(verdict(Rule::kMapPtrReserved).kind, Verdict::Kind::kCrashes);
  EXPECT_EQ(verdict(Rule::kMapPtrReserved).code, CUDA_ERROR_INVALID_VALUE) << "the documented code";
}

TEST_F(DeriveProfile, OrdersRulesByPairs) {
  answer("ptr-reserved+size-nonzero", "CUDA_ERROR_OUT_OF_MEMORY");
  answer("ptr-reserved+offset-zero", "CUDA_ERROR_INVALID_VALUE");
  answer("size-nonzero+offset-zero", "CUDA_ERROR_OUT_OF_MEMORY");
  const DerivedProfile derived = derive();
  EXPECT_THAT(derived.profile.order.at(EntryPoint::kMemMap),
              ElementsAre(Rule::kMapSizeNonzero, Rule::kMapPtrReserved, Rule::kMapOffsetZero));
  // The derived profile gives this answer, too.
  EXPECT_EQ(derived.profile.answer(EntryPoint::kMemMap, {{Rule::kMapPtrReserved, true, "", {}},
                                                         {Rule::kMapSizeNonzero, true, "", {}}}),
            CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(DeriveProfile, SaysWhenPairsContradictEachOther) {
  answer("ptr-reserved+size-nonzero", "CUDA_ERROR_OUT_OF_MEMORY");
  answer("ptr-reserved+offset-zero", "CUDA_ERROR_INVALID_VALUE");
  answer("size-nonzero+offset-zero", "CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_THAT(derive().notes, Contains(HasSubstr("contradict each other")));
}

TEST_F(DeriveProfile, SaysWhenVariantsDisagree) {
  answer("offset-zero~2", "CUDA_ERROR_INVALID_VALUE");
  EXPECT_THAT(derive().notes, Contains(HasSubstr("offset-zero~2 got CUDA_ERROR_INVALID_VALUE")));
}

TEST_F(DeriveProfile, SaysWhenAPairGetsAThirdAnswer) {
  answer("ptr-reserved+size-nonzero", "CUDA_ERROR_UNKNOWN");
  EXPECT_THAT(derive().notes, Contains(HasSubstr("neither's answer")));
}

TEST_F(DeriveProfile, SaysWhenALegalCallFails) {
  answer("legal", "CUDA_ERROR_UNKNOWN");
  EXPECT_THAT(derive().notes, Contains(HasSubstr("cuMemMap/legal is legal")));
}

TEST_F(DeriveProfile, SaysWhichRulesNothingSettles) {
  EXPECT_THAT(derive().notes, Contains(HasSubstr("no case of a family settles cuMemUnmap-mapped")));
}

TEST_F(DeriveProfile, TellsWhichOfSeveralRulesAHandWrittenCaseMeets) {
  const ParsedCases parsed = parse_cases(
      "case a\nbreaks cuImportExternalSemaphore-fd-valid\ncuImportExternalSemaphore({type=1, "
      "fd=-1})  # CUDA_ERROR_INVALID_HANDLE !cuImportExternalSemaphore-fd-valid\n"
      "case b\nbreaks cuImportExternalSemaphore-fd-valid "
      "cuImportExternalSemaphore-flags-zero\ncuImportExternalSemaphore({type=1, fd=-1, flags=1})  "
      "# CUDA_ERROR_INVALID_HANDLE !cuImportExternalSemaphore-fd-valid "
      "!cuImportExternalSemaphore-flags-zero\n",
      "f");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  recording_.cases["a"] = {"CUDA_ERROR_UNKNOWN"};
  recording_.cases["b"] = {"CUDA_ERROR_INVALID_VALUE"};
  const EntryPoint entry = EntryPoint::kImportExternalSemaphore;
  const Profile profile = derive(parsed.cases).profile;
  EXPECT_EQ(profile.verdict(entry, Rule::kSemImportFlagsZero).code, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(profile.order.at(entry),
            (std::vector<Rule>{Rule::kSemImportFlagsZero, Rule::kSemImportFdValid}));
  recording_.cases["b"] = {"CUDA_ERROR_UNKNOWN"};
  EXPECT_EQ(derive(parsed.cases).profile.verdict(entry, Rule::kSemImportFlagsZero).code,
            CUDA_ERROR_INVALID_HANDLE)
      << "hidden behind the other rule: as documented";
}

TEST_F(DeriveProfile, TakesFromHandWrittenCasesWhatNoFamilySays) {
  const ParsedCases parsed = parse_cases(
      "case a\nbreaks driver-initialized\ncuMemRelease(5)  # CUDA_ERROR_NOT_INITIALIZED "
      "!driver-initialized\n"
      "case b\nbreaks driver-initialized\ncuMemUnmap(0, 2M)  # CUDA_ERROR_NOT_INITIALIZED "
      "!driver-initialized\n"
      "case c\nbreaks driver-initialized\ncuMemMap(0, 2M, 5)  # CUDA_ERROR_NOT_INITIALIZED "
      "!driver-initialized\n"
      "case d\nbreaks cuMemMap-offset-zero\ninit()\n"
      "cuMemMap(0, 2M, 5, offset=1)  # CUDA_ERROR_INVALID_VALUE !cuMemMap-offset-zero\n",
      "f");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  recording_.cases["a"] = {"CUDA_ERROR_NOT_INITIALIZED"};
  recording_.cases["b"] = {"CUDA_ERROR_NOT_INITIALIZED"};
  recording_.cases["c"] = {"CUDA_ERROR_NOT_SUPPORTED"};
  recording_.cases["d"] = {"CUDA_SUCCESS", "CUDA_ERROR_UNKNOWN"};
  const Profile profile = derive(parsed.cases).profile;
  const auto code = [&](EntryPoint entry) {
    return profile.verdict(entry, Rule::kDriverInitialized).code;
  };
  EXPECT_EQ(code(EntryPoint::kMemRelease), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(code(EntryPoint::kMemMap), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(profile.verdict(EntryPoint::kMemMap, Rule::kMapOffsetZero).code,
            CUDA_ERROR_NOT_SUPPORTED)
      << "the family's answer counts, not the hand-written case's";
}

}  // namespace
}  // namespace cuvmm::conformance
