// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/mutation.h"

#include <gtest/gtest.h>

namespace cuvmm::emulator {
namespace {

TEST(Mutation, NothingIsAskedForByDefault) {
  for (const char* text : {"", "  "}) {
    const Mutation mutation = parse_mutation(text);
    EXPECT_EQ(mutation.kind, Mutation::Kind::kNone);
    EXPECT_EQ(mutation.error, "");
    EXPECT_FALSE(mutation.hides_one_of({{Rule::kMapOffsetZero, true, "", {}}}));
  }
}

TEST(Mutation, ReadsARemovedRule) {
  const Mutation mutation = parse_mutation("remove cuMemMap-offset-zero");
  EXPECT_EQ(mutation.error, "");
  EXPECT_TRUE(mutation.hides_one_of(
      {{Rule::kMapBounds, true, "", {}}, {Rule::kMapOffsetZero, true, "", {}}}));
  EXPECT_FALSE(mutation.hides_one_of({{Rule::kMapBounds, true, "", {}}}));
  Profile profile;
  profile.entry_verdicts[{EntryPoint::kMemMap, Rule::kMapOffsetZero}] = {};
  profile.entry_verdicts[{EntryPoint::kMemMap, Rule::kMapBounds}] = {};
  mutation.apply(profile);
  EXPECT_EQ(profile.verdict(EntryPoint::kMemMap, Rule::kMapOffsetZero).kind,
            Verdict::Kind::kAccepts);
  EXPECT_EQ(profile.verdict(EntryPoint::kMemMap, Rule::kMapBounds).kind, Verdict::Kind::kCode);
}

TEST(Mutation, ReadsAWrongCode) {
  const Mutation mutation = parse_mutation("code cuMemMap-offset-zero CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(mutation.error, "");
  Profile profile;
  mutation.apply(profile);
  const Violations both = {{Rule::kMapOffsetZero, true, "", {}}, {Rule::kMapBounds, true, "", {}}};
  EXPECT_EQ(profile.answer(EntryPoint::kMemMap, both), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(mutation.hides_one_of(both)) << "it answers, hence hides nothing";
}

TEST(Mutation, ASlipIsAboutNoRule) {
  const std::pair<const char*, Mutation::Kind> slips[] = {
      {"slip import-copies", Mutation::Kind::kImportCopies},
      {"slip ipc-copies", Mutation::Kind::kIpcCopies}};
  for (const auto& [text, kind] : slips) {
    const Mutation mutation = parse_mutation(text);
    EXPECT_EQ(mutation.error, "");
    EXPECT_EQ(mutation.kind, kind);
    Profile profile, untouched;
    mutation.apply(profile);
    EXPECT_EQ(format_profile(profile), format_profile(untouched));
  }
}

TEST(Mutation, AnOrderIsForgottenByItsName) {
  for (const std::string_view order : kOrders) {
    const Mutation mutation = parse_mutation("forget " + std::string(order));
    EXPECT_EQ(mutation.error, "");
    EXPECT_EQ(mutation.kind, Mutation::Kind::kForget);
    EXPECT_EQ(mutation.order, order);
    EXPECT_FALSE(mutation.of_a_rule());
  }
}

TEST(Mutation, WatchingChangesNoVerdict) {
  const Mutation mutation = parse_mutation("watch /tmp/asked");
  EXPECT_EQ(mutation.error, "");
  EXPECT_EQ(mutation.file, "/tmp/asked");
  Profile profile, untouched;
  mutation.apply(profile);
  EXPECT_NE(profile.on_verdict, nullptr);
  EXPECT_EQ(format_profile(profile), format_profile(untouched));
  EXPECT_FALSE(mutation.hides_one_of({{Rule::kMapOffsetZero, true, "", {}}}));
}

TEST(Mutation, SaysWhatWasExpected) {
  constexpr const char* kShape =
      "expected 'remove RULE-ID', 'code RULE-ID CUDA_ERROR_...', 'slip import-copies', 'slip "
      "ipc-copies', 'forget ORDER' or 'watch FILE'";
  const std::pair<const char*, const char*> cases[] = {
      {"remove", kShape},
      {"code cuMemMap-offset-zero", kShape},
      {"remove cuMemMap-offset-zero CUDA_ERROR_UNKNOWN", kShape},
      {"delete cuMemMap-offset-zero", kShape},
      {"slip", kShape},
      {"slip import-moves", kShape},
      {"slip import-copies now", kShape},
      {"slip ipc-copies now", kShape},
      {"forget", kShape},
      {"forget everything", kShape},
      {"forget event-wait now", kShape},
      {"watch", kShape},
      {"watch one two", kShape},
      {"code cuMemMap-offset-zero CUDA_ERROR_UNKNOWN now", kShape},
      {"remove cuMemMap-offset", "no rule 'cuMemMap-offset'"},
      {"code cuMemMap-offset-zero CUDA_ERROR_ODD", "found 'CUDA_ERROR_ODD'"},
      {"code cuMemMap-offset-zero CUDA_SUCCESS", "found 'CUDA_SUCCESS'"}};
  for (const auto& [text, message] : cases) {
    const Mutation mutation = parse_mutation(text);
    EXPECT_EQ(mutation.kind, Mutation::Kind::kNone) << text;
    EXPECT_EQ(mutation.error.rfind(std::string("CUVMM_MUTATION=") + text + ": ", 0), 0u) << text;
    EXPECT_NE(mutation.error.find(message), std::string::npos) << mutation.error;
  }
}

}  // namespace
}  // namespace cuvmm::emulator
