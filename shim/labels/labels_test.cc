// SPDX-License-Identifier: Apache-2.0
#include "shim/labels/labels.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "shim/findings/ledger.h"

namespace cuvmm::shim {
namespace {

Finding unmapped(std::uint64_t call, std::uint64_t made = 0, std::uint64_t count = 1) {
  Finding finding;
  finding.violation = {Rule::kUnmapMapped,
                       true,
                       "nothing is mapped",
                       {{ObjectRef::Kind::kMapping, 0x1000, 8, {made, 0, 0}, {}}}};
  finding.violation.count = count;
  finding.entry = EntryPoint::kMemUnmap;
  finding.answer = Answer{};
  finding.call_index = call;
  return finding;
}

TEST(LabelsTest, NothingSaidLeavesAFindingAsItIs) {
  Labels labels("");
  Finding finding = unmapped(3);
  EXPECT_EQ(labels.take_expected(finding), 0u);
  labels.label(finding);
  EXPECT_EQ(finding.period, 0u);
  EXPECT_EQ(finding.scope, "");
  EXPECT_TRUE(finding.names.empty());
}

TEST(LabelsTest, AScopeNamesWhatComesInItAndWhatWasMadeInIt) {
  Labels labels("run");
  const auto outer = labels.open_scope("outer", false, false, 10);
  const auto inner = labels.open_scope("inner", false, true, 20);
  EXPECT_TRUE(labels.close_scope(inner, 30));
  EXPECT_FALSE(labels.close_scope(inner, 30));
  Finding finding = unmapped(31, 25);
  labels.label(finding);
  EXPECT_EQ(finding.scope, "run > outer");
  EXPECT_FALSE(finding.quiet);
  EXPECT_EQ(finding.made_in, (std::vector<std::string>{"run > outer > inner"}));
  EXPECT_TRUE(labels.close_scope(outer, 40));
  Finding after = unmapped(41, 15);
  labels.label(after);
  EXPECT_EQ(after.scope, "run");
  EXPECT_EQ(after.made_in, (std::vector<std::string>{"run > outer"}));
}

TEST(LabelsTest, OfTwoScopesWithOneBeginTheOneOpenedLaterIsInside) {
  Labels labels("run");
  const auto outer = labels.open_scope("outer", false, false, 10);
  const auto inner = labels.open_scope("inner", false, false, 10);
  // Scopes of two threads may close in any order.
  EXPECT_TRUE(labels.close_scope(outer, 20));
  Finding finding = unmapped(16, 15);
  labels.label(finding);
  EXPECT_EQ(finding.made_in.at(0), "run > outer > inner");
  EXPECT_TRUE(labels.close_scope(inner, 20));
  finding = unmapped(16, 15);
  labels.label(finding);
  EXPECT_EQ(finding.made_in.at(0), "run > outer > inner");
}

TEST(LabelsTest, WhatAKeepingScopeMadeIsKeptForOlderMarks) {
  Labels labels("");
  Labels::Moment before, inside;
  ASSERT_TRUE(labels.moment(labels.mark(10), before));
  const auto scope = labels.open_scope("fixture", true, false, 10);
  ASSERT_TRUE(labels.moment(labels.mark(12), inside));
  EXPECT_TRUE(labels.in_keeping_scope(11, before));
  EXPECT_FALSE(labels.in_keeping_scope(13, inside));  // the scope itself keeps it
  EXPECT_TRUE(labels.close_scope(scope, 20));
  EXPECT_TRUE(labels.in_keeping_scope(20, before));
  EXPECT_FALSE(labels.in_keeping_scope(21, before));
}

TEST(LabelsTest, AnExpectationTakesAsManyAsItWants) {
  Labels labels("");
  std::uint64_t missing = 0;
  const auto two = labels.expect("cuMemUnmap-mapped", 2);
  EXPECT_EQ(labels.take_expected(unmapped(1, 0, 5)), 2u);
  EXPECT_EQ(labels.take_expected(unmapped(2)), 0u);
  ASSERT_TRUE(labels.end_expectation(two, missing));
  EXPECT_EQ(missing, 0u);
  EXPECT_FALSE(labels.end_expectation(two, missing));
  const auto any = labels.expect("cuMemUnmap-*", 0), other = labels.expect("cuMemMap-*", 3);
  EXPECT_EQ(labels.take_expected(unmapped(3, 0, 7)), 7u);
  ASSERT_TRUE(labels.end_expectation(any, missing));
  EXPECT_EQ(missing, 0u);
  ASSERT_TRUE(labels.end_expectation(other, missing));
  EXPECT_EQ(missing, 3u);
  EXPECT_EQ(labels.expected(), 9u);
}

TEST(LabelsTest, ALeakIsToldOnce) {
  Labels labels("");
  const Violation leak = unmapped(0, 4).violation, newer = unmapped(0, 5).violation;
  EXPECT_FALSE(labels.was_reported(leak));
  EXPECT_TRUE(labels.mark_reported(leak));
  EXPECT_FALSE(labels.mark_reported(leak));
  EXPECT_TRUE(labels.was_reported(leak));
  EXPECT_FALSE(labels.was_reported(newer));
}

TEST(LabelsTest, ResetMovesTheBeginning) {
  Labels labels("");
  Labels::Moment start;
  ASSERT_TRUE(labels.moment(0, start));
  EXPECT_EQ(start.call, 0u);
  const auto scope = labels.open_scope("test", false, false, 3);
  labels.reset(9);
  EXPECT_FALSE(labels.close_scope(scope, 9));
  ASSERT_TRUE(labels.moment(0, start));
  EXPECT_EQ(start.call, 9u);
  EXPECT_FALSE(labels.moment(99, start));
}

TEST(LabelsTest, AChildOfForkKeepsItsScopesAndForgetsCalls) {
  Labels labels("");
  labels.open_scope("test", true, false, 50);
  ASSERT_TRUE(labels.lock_for_fork());
  labels.unlock_after_fork();
  labels.restart_in_child(true);
  Finding finding = unmapped(2, 1);
  labels.label(finding);
  EXPECT_EQ(finding.scope, "test");
  EXPECT_EQ(finding.made_in, (std::vector<std::string>{"test"}));
  labels.restart_in_child(false);  // half changed: the child reads nothing of it
  EXPECT_EQ(labels.scope(), "");
}

TEST(LabelsTest, FindingsOfTwoPeriodsAreTwo) {
  Labels labels("");
  Ledger ledger(
      Suppressions(), [](const Entry&) {}, false, &labels);
  ledger.take(unmapped(1));
  ledger.take(unmapped(2));
  const std::uint64_t mark = labels.mark(2);
  ledger.take(unmapped(3));
  const Rule rule = Rule::kUnmapMapped;
  EXPECT_EQ(ledger.count_since(0, nullptr), 3u);
  EXPECT_EQ(ledger.count_since(mark, nullptr), 1u);
  EXPECT_EQ(ledger.count_since(mark, &rule), 1u);
  ASSERT_NE(ledger.first(), nullptr);
  EXPECT_EQ(ledger.first()->count.load(), 2u);
  EXPECT_EQ(ledger.first()->next.load()->finding.call_index, 3u);
}

TEST(LabelsTest, ThreadsMayAllSpeak) {
  Labels labels("");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t call = 1; call <= 200; ++call) {
        const auto scope = labels.open_scope("s", false, false, call);
        Finding finding = unmapped(call, call);
        labels.label(finding);
        EXPECT_TRUE(labels.close_scope(scope, call));
        labels.mark(call);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(labels.scope(), "");
}

}  // namespace
}  // namespace cuvmm::shim
