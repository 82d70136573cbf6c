// SPDX-License-Identifier: Apache-2.0
#include "rulebook/memory/check_ended.h"

#include <gmock/gmock.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_ended_test {
namespace {

using Kind = ObjectRef::Kind;

EndedObject ended(Kind kind) {
  return {{.kind = kind, .value = 0x77, .made = {.call = 1}, .ended = {.call = 2}}, "handle"};
}

Violations look(Kind kind, bool broken) {
  const EndedObject one = ended(kind);
  return check_ended_objects(broken ? std::span(&one, 1) : std::span<const EndedObject>());
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kEventAlive, [](World&, bool broken) { return look(Kind::kEvent, broken); }},
      {Rule::kEventContext,
       [](World&, bool broken) {
         return check_event_context(
             {.event = {.kind = Kind::kEvent, .value = 0x77, .made = {}, .ended = {}},
              .event_context = 0xc0,
              .stream_context = broken ? 0xc1u : 0xc0u});
       }},
      {Rule::kContextAlive, [](World&, bool broken) { return look(Kind::kContext, broken); }},
      {Rule::kCodeAlive, [](World&, bool broken) { return look(Kind::kModule, broken); }},
      {Rule::kGraphAlive, [](World&, bool broken) { return look(Kind::kExecutableGraph, broken); }},
  };
}
const ListedCases kListed(cases);

TEST(CheckEnded, NamesTheParameterTheKindAndTheObject) {
  const Violations found = look(Kind::kLibrary, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "handle: library 0x77 was unloaded");
  EXPECT_EQ(found[0].objects.front().ended.call, 2u);
  EXPECT_FALSE(found[0].certain) << "the driver may have given the handle out again";
}

TEST(CheckEnded, AFunctionGoesWithItsModule) {
  EXPECT_EQ(look(Kind::kFunction, true)[0].message,
            "handle: function 0x77 is of a module or a library that was unloaded");
}

TEST(CheckEnded, WhatEndedWithItsContextWasNotDestroyed) {
  EndedObject one = ended(Kind::kEvent);
  one.with_context = true;
  EXPECT_EQ(check_ended_objects({&one, 1})[0].message, "handle: event 0x77 ended with its context");
}

TEST(CheckEnded, EachOfSeveral) {
  const EndedObject both[] = {ended(Kind::kStream), ended(Kind::kEvent)};
  EXPECT_EQ(check_ended_objects(both).size(), 2u);
}

TEST(EventContext, NamesBothContextsAndTheirDevices) {
  EventRecorded one{.event = {.kind = Kind::kEvent, .value = 0x77, .ended = {}},
                    .event_context = 0xc0,
                    .stream_context = 0xc1,
                    .event_device = 0,
                    .stream_device = 1};
  EXPECT_EQ(check_event_context(one)[0].message,
            "hEvent: event 0x77 was made in context 0xc0 of device 0, and hStream is one of "
            "context 0xc1 of device 1");
  one.stream_context = 0;
  EXPECT_TRUE(check_event_context(one).empty()) << "nobody knows the stream's context";
}

TEST(OwnChild, IsNamedByItsHandle) {
  const Violations found = check_own_child(0x55);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kGraphNotOwnChild);
  EXPECT_TRUE(found[0].certain);
  EXPECT_NE(found[0].message.find("0x55"), std::string::npos);
}

TEST(NoResources, AreUndefined) {
  const Violations found = check_no_resources();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kResourcesNotNone);
  EXPECT_TRUE(found[0].certain);
}

TEST(Semaphores, AreNamedByWhatIsMissing) {
  const Violations arrays = check_announced("paramsArray", "numExtSems", 3);
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].rule, Rule::kAnnouncedArray);
  EXPECT_EQ(arrays[0].message, "paramsArray is NULL, and numExtSems is 3");
  const Violations null = check_null_semaphore(0x55);
  ASSERT_EQ(null.size(), 1u);
  EXPECT_EQ(null[0].rule, Rule::kLaunchSemaphoreNonnull);
  EXPECT_TRUE(null[0].certain);
}

TEST(GraphCode, NamesTheGraphAndTheFunction) {
  const Violations found = check_graph_code(Rule::kGraphCodeLoaded, 0x55, ended(Kind::kFunction));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kGraphCodeLoaded);
  EXPECT_TRUE(found[0].certain);
  ASSERT_EQ(found[0].objects.size(), 1u);
  EXPECT_EQ(found[0].objects[0].kind, Kind::kFunction);
  EXPECT_NE(found[0].message.find("graph 0x55 runs function 0x"), std::string::npos);
}

}  // namespace
}  // namespace cuvmm::testing::check_ended_test
