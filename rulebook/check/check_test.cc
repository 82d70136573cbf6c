// SPDX-License-Identifier: Apache-2.0
// The rule of each RuleCase fires on the broken call, and on nothing after that is corrected. A
// rule that a family of the conformance suite breaks has a RuleCase only for further boundaries.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "rulebook/testing/world.h"

namespace cuvmm::testing {
namespace {

std::vector<std::string> ids(const Violations& violations) {
  std::vector<std::string> out;
  for (const Violation& v : violations) out.push_back(info(v.rule).id);
  return out;
}

class RuleCaseTest : public ::testing::TestWithParam<RuleCase> {};

TEST_P(RuleCaseTest, FiresWhenBroken) {
  World world;
  EXPECT_THAT(ids(GetParam().run(world, true)), ::testing::Contains(info(GetParam().rule).id));
}

TEST_P(RuleCaseTest, IsSilentOnTheNearMiss) {
  World world;
  const Violations violations = GetParam().run(world, false);
  EXPECT_THAT(ids(violations), ::testing::IsEmpty()) << violations.front().message;
}

TEST_P(RuleCaseTest, SaysWhatIsWrong) {
  World world;
  for (const Violation& v : GetParam().run(world, true))
    EXPECT_FALSE(v.message.empty()) << info(v.rule).id;
}

INSTANTIATE_TEST_SUITE_P(All, RuleCaseTest, ::testing::ValuesIn(ListedCases::all()),
                         [](const auto& test) {
                           std::string id = cuvmm::info(test.param.rule).id;
                           std::replace_if(
                               id.begin(), id.end(),
                               [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
                               '_');
                           return id + "_" + std::to_string(test.index);
                         });

// The rules that the conformance suite breaks, by a family ("break cuMemMap-ptr-aligned: ptr=r0+1")
// or by a case ("breaks cuMemMap-ptr-aligned"). A family's break stands beside the legal call that
// it changes. The emulator runs both, and conformance.mutation notices a check that does nothing.
std::set<std::string> broken_by_the_suite() {
  const std::regex word("breaks?((?: [A-Za-z0-9_-]+)+)(?::.*)?");
  std::set<std::string> ids;
  for (const auto& file : std::filesystem::recursive_directory_iterator(CUVMM_SUITE)) {
    if (file.path().extension() != ".family" && file.path().extension() != ".cuvmm") continue;
    std::ifstream in(file.path());
    std::smatch found;
    for (std::string text; std::getline(in, text);) {
      if (!std::regex_match(text, found, word)) continue;
      std::istringstream words(found[1]);
      for (std::string id; words >> id;) ids.insert(id);
    }
  }
  return ids;
}

TEST(RuleCases, AndTheSuiteCoverEveryRuleThatCanBeChecked) {
  std::set<Rule> covered;
  for (const RuleCase& c : ListedCases::all()) covered.insert(c.rule);
  const std::set<std::string> broken = broken_by_the_suite();
  EXPECT_GT(broken.size(), 100u);
  // Only the driver's own answer shows this misuse: the shim's tests provoke it.
  covered.insert(Rule::kDriverNotDeinitialized);
  // Only two processes together show this misuse: tools/report/ipc_order_test.cc has its cases.
  covered.insert(Rule::kIpcFreedWhileOpen);
  covered.insert(Rule::kPoolFreedWhileImported);
  // The driver's answer and earlier calls show this misuse: shim/cause/name_cause_test.cc.
  covered.insert(Rule::kStreamCapture);
  covered.insert(Rule::kStreamCaptureLegacy);
  covered.insert(Rule::kStreamCaptureWait);
  covered.insert(Rule::kStreamCaptureEvent);
  covered.insert(Rule::kStreamCaptureNode);
  covered.insert(Rule::kStreamCaptureDefault);
  covered.insert(Rule::kGraphMemoryFreed);
  covered.insert(Rule::kGraphFreeAlive);
  // The same; shim/testing/left/ended_test.py has the cases.
  covered.insert(Rule::kHostMemoryAlive);
  covered.insert(Rule::kGraphFreeKnown);
  covered.insert(Rule::kGraphNotOwnChild);
  covered.insert(Rule::kResourcesNotNone);
  covered.insert(Rule::kGraphCodeLoaded);
  covered.insert(Rule::kUpdateCodeLoaded);
  covered.insert(Rule::kAnnouncedArray);
  covered.insert(Rule::kLaunchSemaphoreNonnull);
  // The shim counts these by place, objects that the model does not know included:
  // shim/testing/left/left_at_the_end_test.py has the cases.
  covered.insert(Rule::kContextMemoryLeft);
  covered.insert(Rule::kPlaceLeft);
  // No call of the driver breaks this rule; rulebook/sharing/check_external_memory_test.cc has its
  // cases.
  covered.insert(Rule::kExportFdClosedOnce);
  // Kernels break these rules: kernels/watch/watch_test.cc and real-driver-tests/kernels have
  // pairs.
  for (const RuleInfo& rule : rules()) {
    if (std::string_view(area(rule.rule)) == "kernel") covered.insert(rule.rule);
  }
  for (const RuleInfo& rule : rules()) {
    EXPECT_TRUE(rule.uncheckable || covered.contains(rule.rule) || broken.contains(rule.id))
        << rule.id << " has no firing case: break it in conformance/families/ or by a RuleCase";
  }
}

// A program may pass -1, say, from a failed call whose result it took for an offset.
TEST(Words, ANegativeNumberIsNoSize) {
  World world;
  const Handle h = world.create(0x100, 1);
  world.reserve(kBase, 1);
  const Violations v = check(
      world.model,
      calls::MemMap{
          .ptr = kBase, .size = kGranule, .offset = static_cast<std::size_t>(-1), .handle = h});
  ASSERT_FALSE(v.empty());
  EXPECT_EQ(v[0].message, "offset is 0xffffffffffffffff (-1), not 0");
}

TEST(Words, OneIsNotMany) {
  World world;
  const Handle h = world.create(0x100, 1);
  world.retain(h);
  const Violations v = check_exit(world.model, [](const Export&) { return true; });
  ASSERT_EQ(v.size(), 1u);
  EXPECT_THAT(v[0].message,
              ::testing::HasSubstr("the handle was retained 1 time, last by call " +
                                   std::to_string(world.model.allocation(h)->retained.call) +
                                   ", and each retain needs"));
}

TEST(Certainty, WhatWasNeverSeenIsUncertainUnlessEverythingIsSeen) {
  World world;
  world.model.platform().complete = false;
  for (const Violations& v :
       {check(world.model, calls::MemRelease{.handle = 0x1234}),
        check(world.model, calls::MemUnmap{.ptr = kBase, .size = kGranule}),
        check(world.model, calls::MemAddressFree{.ptr = kBase, .size = kGranule})}) {
    ASSERT_EQ(v.size(), 1u);
    EXPECT_FALSE(v[0].certain) << v[0].message;
  }
}

TEST(Certainty, WhatIsKnownToBeGoneIsCertain) {
  World world;
  world.model.platform().complete = false;
  const Handle h = world.mapped(kBase, 1);
  world.unmap(kBase, 1);
  world.release(h);
  world.free(kBase, 1);
  const Violations stale = check(world.model, calls::MemRelease{.handle = h});
  ASSERT_EQ(stale.size(), 1u);
  EXPECT_TRUE(stale[0].certain);
  ASSERT_EQ(stale[0].objects.size(), 1u);
  EXPECT_EQ(stale[0].objects[0].made.call, 2u);   // the create
  EXPECT_EQ(stale[0].objects[0].ended.call, 6u);  // the release
  const Violations freed = check(world.model, calls::MemUnmap{.ptr = kBase, .size = kGranule});
  ASSERT_EQ(freed.size(), 1u);
  EXPECT_TRUE(freed[0].certain);
}

TEST(Certainty, AnUnreadableHandleIsCertainlyWrong) {
  World world;
  world.model.platform().complete = false;
  Facts facts;
  facts.unicast.handle_readable = Facts::Answer::kNo;
  const Violations v = check(world.model, calls::MemRelease{.handle = 0x1234}, facts);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_TRUE(v[0].certain);
}

// The traps for false positives in reference/field-bugs.md: all of this is legal.
TEST(Legal, RetainReleaseRelease) {
  World world;
  const Handle h = world.mapped(kBase, 1);
  world.retain(h);
  EXPECT_TRUE(check(world.model, calls::MemRelease{.handle = h}).empty());
  world.release(h);
  world.unmap(kBase, 1);
  EXPECT_TRUE(check(world.model, calls::MemRelease{.handle = h}).empty());
}

TEST(Legal, ReleaseBeforeUnmap) {
  World world;
  const Handle h = world.mapped(kBase, 1);
  world.release(h);
  EXPECT_TRUE(check(world.model, calls::MemUnmap{.ptr = kBase, .size = kGranule}).empty());
  world.unmap(kBase, 1);
  EXPECT_TRUE(check_exit(world.model, [](const Export&) { return true; }).empty());
}

TEST(Legal, AccessOnAGrownTailAndCopiesAcrossMappings) {
  World world;
  world.reserve(kBase, 3);
  for (unsigned i = 0; i < 3; ++i) {
    world.create(0x100 + i, 1);
    world.map(kBase + i * kGranule, 1, 0x100 + i);
    const CUmemAccessDesc desc = access_desc();
    EXPECT_TRUE(check(world.model,
                      calls::MemSetAccess{
                          .ptr = kBase + i * kGranule, .size = kGranule, .desc = &desc, .count = 1})
                    .empty());
    world.access(kBase + i * kGranule, 1);
  }
  EXPECT_TRUE(
      check_data(world, calls::MemsetD8{.dstDevice = kBase + 1, .N = 3 * kGranule - 2}).empty());
  EXPECT_TRUE(check(world.model, calls::MemUnmap{.ptr = kBase, .size = 3 * kGranule}).empty());
}

TEST(Legal, MemoryStillMappedAtExitIsAlive) {
  World world;
  world.mapped(kBase, 1);
  EXPECT_TRUE(check_exit(world.model, [](const Export&) { return true; }).empty());
}

}  // namespace
}  // namespace cuvmm::testing
