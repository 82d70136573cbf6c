// SPDX-License-Identifier: Apache-2.0
#include "rulebook/profile/profile.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>

namespace cuvmm {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> all_names() {
  std::vector<std::string> names = builtin_profiles();
  for (const std::string& name : platform_profiles()) names.push_back(name);
  return names;
}

TEST(Profile, BuiltinsParseAndNameThemselves) {
  ASSERT_FALSE(builtin_profiles().empty());
  ASSERT_FALSE(platform_profiles().empty());
  for (const std::string& name : all_names()) {
    const ProfileResult result = load_profile(name);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.profile.name, name);
    EXPECT_GT(result.profile.device_granularity_minimum, 0u);
  }
}

TEST(Profile, TextReadsBackTheSame) {
  for (const std::string& name : all_names()) {
    const std::string text = format_profile(load_profile(name).profile);
    const ProfileResult again = parse_profile(text, "round trip");
    EXPECT_EQ(again.error, "");
    EXPECT_EQ(format_profile(again.profile), text);
  }
}

TEST(Profile, AnyNameReadsBackAsALine) {
  Profile profile = load_profile(builtin_profiles().front()).profile;
  profile.name = "\"a\" \\b";
  profile.gpu = "\n\t\x7f\x01\xc3\xa9" + std::string(1000, 'x');
  const ProfileResult again = parse_profile(format_profile(profile), "round trip");
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.profile.name, profile.name);
  EXPECT_EQ(again.profile.gpu, "??????" + std::string(994, 'x'));
}

TEST(Profile, DocumentedRefusesWhatTheDocumentationForbids) {
  const Profile profile = load_profile("documented").profile;
  for (const RuleInfo& rule : rules()) {
    const CUresult answer = profile.answer(rule.entry, {{rule.rule, true, "", {}}});
    // These codes are documented, although the rules are advice because a missing channel is no
    // misuse.
    const bool environment =
        rule.rule == Rule::kCreateFabricChannel || rule.rule == Rule::kPoolCreateFabric;
    const bool forbidden = rule.kind == RuleKind::kError || rule.kind == RuleKind::kUndefined;
    const bool refused = environment || (forbidden && !rule.uncheckable);
    EXPECT_EQ(answer, refused ? rule.code : CUDA_SUCCESS) << rule.id;
  }
}

TEST(Profile, TheOrderDecidesWhichCodeComesBack) {
  const char* text = R"(
[profile]
name = "p"
[verdicts]
"cuMemMap-offset-zero" = "CUDA_ERROR_NOT_SUPPORTED"
"cuMemMap-flags-zero" = "CUDA_ERROR_INVALID_VALUE"
"cuMemMap-vacant" = "accepts"
[order]
cuMemMap = ["cuMemMap-vacant", "cuMemMap-offset-zero"]
)";
  const ProfileResult result = parse_profile(text, "text");
  ASSERT_EQ(result.error, "");
  const Violations both = {{Rule::kMapFlagsZero, true, "", {}},
                           {Rule::kMapOffsetZero, true, "", {}},
                           {Rule::kMapVacant, true, "", {}}};
  EXPECT_EQ(result.profile.answer(EntryPoint::kMemMap, both), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(result.profile.answer(EntryPoint::kMemMap, {both[0]}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result.profile.answer(EntryPoint::kMemMap, {both[2]}), CUDA_SUCCESS);
}

TEST(Profile, WhatAFileLeavesOutIsAsInItsBase) {
  const Profile base = load_profile("documented").profile;
  const ProfileResult result = parse_profile(
      "[quirks]\n\"cuMemset-elsewhere\" = true\n[attributes]\n102 = 0\n"
      "[verdicts]\n\"cuMemMap-vacant\" = \"accepts\"\n"
      "[profile]\nname = \"p\"\nbase = \"documented\"\n",
      "text");
  ASSERT_EQ(result.error, "");
  const Profile& profile = result.profile;
  EXPECT_EQ(profile.name, "p");
  EXPECT_EQ(profile.cuda_version, base.cuda_version);
  EXPECT_EQ(profile.attribute(102, 1), 0);
  EXPECT_EQ(profile.attribute(103, 1), base.attribute(103, 1));
  EXPECT_TRUE(profile.has(Quirk::kFillElsewhere));
  EXPECT_EQ(profile.answer(EntryPoint::kMemMap, {{Rule::kMapVacant, true, "", {}}}), CUDA_SUCCESS);
  EXPECT_EQ(profile.answer(EntryPoint::kMemMap, {{Rule::kMapOffsetZero, true, "", {}}}),
            base.answer(EntryPoint::kMemMap, {{Rule::kMapOffsetZero, true, "", {}}}));
}

TEST(Profile, AnOrderReplacesTheOneOfTheBase) {
  const ProfileResult result = parse_profile(
      "[profile]\nname = \"p\"\nbase = \"h200-580.159.04\"\n[order]\n"
      "cuMemMap = [\"cuMemMap-vacant\"]\n",
      "text");
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.profile.order.at(EntryPoint::kMemMap), std::vector<Rule>{Rule::kMapVacant});
}

TEST(Profile, SaysWhyACallIsRefused) {
  const ProfileResult result = parse_profile(
      "[profile]\nname = \"p\"\n[because]\n"
      "\"cuMemMap:CUDA_ERROR_NOT_SUPPORTED\" = \"a\"\n\"any:CUDA_ERROR_NOT_SUPPORTED\" = \"b\"\n",
      "text");
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.profile.reason(EntryPoint::kMemMap, CUDA_ERROR_NOT_SUPPORTED), "a");
  EXPECT_EQ(result.profile.reason(EntryPoint::kMemUnmap, CUDA_ERROR_NOT_SUPPORTED), "b");
  EXPECT_EQ(result.profile.reason(EntryPoint::kMemMap, CUDA_ERROR_UNKNOWN), "");
}

TEST(Profile, OneEntryPointMayAnswerOtherwise) {
  const ProfileResult result = parse_profile(
      "[profile]\nname = \"p\"\n[verdicts]\n\"cuMemMap:driver-initialized\" = "
      "\"CUDA_ERROR_UNKNOWN\"\n",
      "text");
  ASSERT_EQ(result.error, "");
  const Violations violations = {{Rule::kDriverInitialized, true, "", {}}};
  EXPECT_EQ(result.profile.answer(EntryPoint::kMemMap, violations), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(result.profile.answer(EntryPoint::kMemUnmap, violations), CUDA_ERROR_NOT_INITIALIZED);
}

struct BadText {
  std::string text;
  const char* error;
};
void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.error; }

class BadProfile : public ::testing::TestWithParam<BadText> {};

TEST(Profile, AttributesOfSeveralReplaceThoseOfOne) {
  const ProfileResult result = parse_profile(
      "[profile]\nname = \"p\"\n[attributes]\n102 = 1\n132 = 0\n"
      "[attributes_of_several]\n132 = 1\n",
      "f.toml");
  ASSERT_EQ(result.error, "");
  const Profile again = parse_profile(format_profile(result.profile), "again").profile;
  for (const Profile& profile : {result.profile, again}) {
    EXPECT_EQ(profile.attribute(132, 1), 0);
    EXPECT_EQ(profile.attribute(132, 2), 1);
    EXPECT_EQ(profile.attribute(102, 2), 1);
    EXPECT_EQ(profile.attribute(999, 2), std::nullopt);
  }
}

// toml++ recurses for each part of a key; a key of 300,000 parts killed the process.
TEST(Profile, KeysOfManyPartsAreRefused) {
  const auto error_of = [](int parts) {
    std::string key = "a";
    for (int i = 1; i < parts; ++i) key += ".a";
    return parse_profile(key + " = 1\n", "f.toml").error;
  };
  EXPECT_EQ(error_of(300'000), "f.toml:1:4097: expected lines of at most 4096 characters");
  EXPECT_THAT(error_of(2046), HasSubstr("unknown section"));
}

TEST_P(BadProfile, IsRefusedWithItsPlaceAndWhatWasExpected) {
  const ProfileResult result = parse_profile(GetParam().text, "f.toml");
  EXPECT_THAT(result.error, HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadProfile,
    ::testing::Values(
        BadText{"[profile\n", "f.toml:1:9: "}, BadText{"[+", "f.toml:1:"},
        BadText{"[a]\nb\xc3\xa9 = 1\n", "f.toml:2:2: expected printable ASCII"},
        BadText{"x = 1\n", "f.toml:1:5: expected a section"},
        BadText{"[profil]\nname = \"p\"\n", "unknown section [profil]"},
        BadText{"[profile]\nname = \"p\"\nnane = 1\n", "f.toml:3:8: unknown key nane"},
        BadText{"[profile]\nname = \"p\"\nbase = \"wsl2\"\n",
                "f.toml:3:8: base: expected h200-580.159.04 or documented"},
        BadText{"[limits]\naddress_base = 0x302000001\n",
                "f.toml:2:16: address_base: expected a multiple of 2 MiB"},
        BadText{"[limits]\naddress_base = 0x800000000000\n", "f.toml:2:16: address_base: expected"},
        BadText{"[limits]\naddress_base = -1\n", "f.toml:2:16: address_base: expected a number"},
        BadText{"[profile]\nbase = 3\n", "f.toml:2:8: base: expected"},
        BadText{"[profile]\nbase = \"documented\"\n", "expected [profile] with a name"},
        BadText{"[because]\n\"cuMemMap\" = \"x\"\n", "expected \"ENTRY_POINT:CODE\""},
        BadText{"[because]\n\"cuMemMapp:CUDA_ERROR_UNKNOWN\" = \"x\"\n", "f.toml:2:"},
        BadText{"[profile]\nname = 3\n", "f.toml:2:8: name: expected a string"},
        BadText{"[profile]\nname = \"\\u0432\"\n", "f.toml:2:8: name: expected one line"},
        BadText{"[profile]\nname = \"a\\nb\"\n", "f.toml:2:8: name: expected one line"},
        BadText{"[profile]\nname = \"" + std::string(1001, 'a') + "\"\n",
                "name: expected one line of at most 1000 printable ASCII characters"},
        BadText{"[because]\n\"any:CUDA_ERROR_UNKNOWN\" = \"\\u0432\"\n",
                "f.toml:2:28: expected one line"},
        BadText{"[profile]\ngpu = \"g\"\n", "expected [profile] with a name"},
        BadText{"[limits]\nhost_page = -1\n", "expected a number of bytes, not negative"},
        BadText{"[limits]\nfabric_channel = 1\n", "expected true or false"},
        BadText{"[attributes]\nabc = 1\n", "expected NUMBER = VALUE"},
        BadText{"[verdicts]\n\"cuMemMapp:driver-initialized\" = \"accepts\"\n",
                "no entry point cuMemMapp"},
        BadText{"[verdicts]\n\"no-such\" = \"accepts\"\n", "no rule no-such"},
        BadText{"[verdicts]\n\"cuMemMap-vacant\" = \"accept\"\n",
                "f.toml:2:21: expected \"accepts\", \"crashes\" or an error"},
        BadText{"[verdicts]\n\"cuMemMap-vacant\" = \"CUDA_SUCCESS\"\n", "expected \"accepts\""},
        BadText{"[order]\ncuMemMapp = []\n", "expected ENTRY_POINT"},
        BadText{"[order]\ncuMemMap = [\"x\"]\n", "no such rule"}));

// An error whose code is inferred, and which a real driver accepts, has a reason (CUVMM_FORBIDDEN
// in rulebook/rules/), or is advice.
TEST(Accepted, WhatADriverAcceptsOnAnInferredCodeIsDecided) {
  std::vector<Profile> recorded;
  for (const std::string& name : builtin_profiles()) {
    if (name != "documented") recorded.push_back(load_profile(name).profile);
  }
  ASSERT_FALSE(recorded.empty());
  std::size_t decided = 0;
  for (const RuleInfo& rule : rules()) {
    const bool accepted = std::any_of(recorded.begin(), recorded.end(), [&](const Profile& p) {
      return p.verdict(rule.entry, rule.rule).kind == Verdict::Kind::kAccepts;
    });
    const bool forbids = rule.kind == RuleKind::kError || rule.kind == RuleKind::kUndefined;
    const bool open = accepted && forbids && !rule.uncheckable && rule.basis == CodeBasis::kListed;
    EXPECT_EQ(why_forbidden(rule.rule) != nullptr, open) << rule.id;
    decided += open;
  }
  EXPECT_GT(decided, 10u);
  EXPECT_EQ(info(Rule::kPoolAllocSize).kind, RuleKind::kAdvice);
}

TEST(Profile, AnUnknownNameListsTheKnownOnes) {
  EXPECT_THAT(load_profile("h100").error, HasSubstr("h200-580.159.04"));
}

}  // namespace
}  // namespace cuvmm
