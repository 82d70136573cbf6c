// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/object_findings.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

using O = timeline::Object;

Life life(O kind, std::uint64_t value, std::uint64_t begin, std::uint64_t end) {
  Life one{.kind = kind, .value = value, .size = 4096, .begin_ns = 10, .begin_call = begin};
  if (end != 0) one.end_ns = 20;
  one.end_call = end;
  return one;
}

Json finding(std::uint64_t call, Json objects = Json::array(), std::uint64_t pid = 7) {
  return {{"rule", "r"}, {"pid", pid}, {"call_index", call}, {"objects", std::move(objects)}};
}

ProcessTimeline two_mappings() {
  ProcessTimeline timeline;
  timeline.pid = 7;
  timeline.lives = {life(O::kMapping, 0x1000, 1, 5), life(O::kMapping, 0x2000, 2, 0)};
  return timeline;
}

TEST(ObjectFindings, OfTheObjectsThatAFindingNames) {
  const ProcessTimeline timeline = two_mappings();
  const Json object = {{"value", "0x2000"}, {"made_by_call", 2}, {"name", "weights"}};
  const Json findings =
      Json::array({finding(9, Json::array({object, object})), finding(9, Json::array({object}))});
  const ObjectFindings findings_of(timeline, findings);
  EXPECT_EQ(findings_of.of(timeline.lives[0]), nullptr);
  const FindingsOfObject* const known = findings_of.of(timeline.lives[1]);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(*known->object, object);
  EXPECT_EQ(known->findings, (std::vector{&findings[0], &findings[1]}));
  EXPECT_EQ(findings_of.lives_of(findings[0]), (std::vector{&timeline.lives[1]}));
}

TEST(ObjectFindings, OfWhatTheCallMadeOrEnded) {
  const ProcessTimeline timeline = two_mappings();
  const Json findings = Json::array({finding(5), finding(2), finding(0), finding(6)});
  const ObjectFindings findings_of(timeline, findings);
  EXPECT_EQ(findings_of.lives_of(findings[0]), (std::vector{&timeline.lives[0]}));
  EXPECT_EQ(findings_of.lives_of(findings[1]), (std::vector{&timeline.lives[1]}));
  EXPECT_TRUE(findings_of.lives_of(findings[2]).empty());  // a finding at the exit has no call
  EXPECT_TRUE(findings_of.lives_of(findings[3]).empty());
  EXPECT_EQ(findings_of.of(timeline.lives[0])->object, nullptr);
  EXPECT_NE(findings_of.of(timeline.lives[0])->number, findings_of.of(timeline.lives[1])->number);
}

TEST(ObjectFindings, NothingOfAnotherProcess) {
  const ProcessTimeline timeline = two_mappings();
  const Json findings = Json::array({finding(5, Json::array(), 8)});
  EXPECT_EQ(ObjectFindings(timeline, findings).of(timeline.lives[0]), nullptr);
}

TEST(ObjectFindings, OneCallMayEndVeryMuch) {
  ProcessTimeline timeline;
  timeline.pid = 7;
  for (std::uint64_t i = 0; i < 1000; ++i)
    timeline.lives.push_back(life(O::kMapping, 4096 * i, i + 1, 2000));
  const Json findings = Json::array({finding(2000)});
  EXPECT_EQ(ObjectFindings(timeline, findings).lives_of(findings[0]).size(), 64u);
}

}  // namespace
}  // namespace cuvmm::tools
