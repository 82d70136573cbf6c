// SPDX-License-Identifier: Apache-2.0
#include "shim/objects/object_table.h"

#include <gmock/gmock.h>

namespace cuvmm::shim {
namespace {

using Kind = PlainObject::Kind;
constexpr std::chrono::milliseconds kPatience{1000};

PlainObject object(Kind kind, std::uint64_t value, std::uint64_t context = 0, int device = -1) {
  return {.kind = kind, .value = value, .context = context, .device = device, .made = 1};
}
std::size_t left(ObjectTable& table) { return table.all(kPatience)->objects.size(); }

TEST(ObjectTable, KnowsWhatIsThere) {
  ObjectTable table;
  table.add(object(Kind::kStream, 7));
  table.add(object(Kind::kEvent, 7));
  EXPECT_EQ(left(table), 2u);
  EXPECT_FALSE(table.take(Kind::kGraph, 7));
  ASSERT_TRUE(table.take(Kind::kStream, 7));
  EXPECT_FALSE(table.take(Kind::kStream, 7));
  EXPECT_EQ(table.all(kPatience)->objects.front().kind, Kind::kEvent);
}

TEST(ObjectTable, StreamsEndWithTheirContextAndGraphsDoNot) {
  ObjectTable table;
  table.add(object(Kind::kContext, 5));
  table.add(object(Kind::kStream, 1, 5));
  table.add(object(Kind::kModule, 2, 6, 0));
  table.add(object(Kind::kEvent, 3, 8, 1));
  table.add(object(Kind::kGraph, 4));
  EXPECT_TRUE(table.is_made(5));
  EXPECT_FALSE(table.is_made(6));
  table.end_context(5, {.call = 9});
  EXPECT_EQ(left(table), 4u);
  table.end_primary(0, {.call = 9});
  EXPECT_EQ(left(table), 3u);
  EXPECT_TRUE(table.take(Kind::kEvent, 3));
}

void end(ObjectTable& table, Kind kind, std::uint64_t value) {
  const auto taken = table.take(kind, value);
  table.ended(kind, value, taken ? taken->made : 0, {.call = 4});
}

TEST(ObjectTable, KnowsWhatHasEnded) {
  ObjectTable table;
  table.add(object(Kind::kEvent, 7));
  EXPECT_FALSE(table.find_ended(Kind::kEvent, 7));
  end(table, Kind::kEvent, 7);
  const auto ended_object = table.find_ended(Kind::kEvent, 7);
  ASSERT_TRUE(ended_object);
  EXPECT_EQ(ended_object->object.kind, ObjectRef::Kind::kEvent);
  EXPECT_EQ(ended_object->object.made.stack, 1u);
  EXPECT_EQ(ended_object->object.ended.call, 4u);
  EXPECT_TRUE(g_ended.may_hold(7));
  EXPECT_FALSE(table.find_ended(Kind::kStream, 7)) << "of another kind";
  table.add(object(Kind::kEvent, 7));
  EXPECT_FALSE(table.find_ended(Kind::kEvent, 7)) << "born again";
  EXPECT_FALSE(g_ended.may_hold(7));
}

TEST(ObjectTable, WhatTheDriverKeptHasNotEnded) {
  ObjectTable table;
  table.add(object(Kind::kStream, 7));
  table.stays(Kind::kStream, 7, table.take(Kind::kStream, 7));
  EXPECT_FALSE(table.find_ended(Kind::kStream, 7));
  EXPECT_EQ(left(table), 1u);
}

// Another thread gets the handle before the call that ended its object has returned.
TEST(ObjectTable, AHandleMayBeBornAgainBeforeTheEndIsKnown) {
  ObjectTable table;
  table.take(Kind::kEvent, 7);
  table.add(object(Kind::kEvent, 7));
  table.ended(Kind::kEvent, 7, 0, {.call = 4});
  EXPECT_FALSE(table.find_ended(Kind::kEvent, 7));
  table.take(Kind::kEvent, 8);
  table.forget(Kind::kEvent, 8);
  table.ended(Kind::kEvent, 8, 0, {.call = 4});
  EXPECT_FALSE(table.find_ended(Kind::kEvent, 8));
}

TEST(ObjectTable, StreamsHaveEndedWithTheirContext) {
  ObjectTable table;
  table.add(object(Kind::kStream, 1, 5));
  table.add(object(Kind::kStream, 2, 6));
  table.end_context(5, {.call = 9});
  ASSERT_TRUE(table.find_ended(Kind::kStream, 1));
  EXPECT_EQ(table.find_ended(Kind::kStream, 1)->object.ended.call, 9u);
  EXPECT_TRUE(table.find_ended(Kind::kStream, 1)->with_context);
  EXPECT_FALSE(table.find_ended(Kind::kStream, 2));
  table.forget_all(Kind::kStream);
  EXPECT_FALSE(table.find_ended(Kind::kStream, 1));
}

// cuCtxDetach: the program may have other references.
TEST(ObjectTable, WhatMayLiveOnHasNotEnded) {
  ObjectTable table;
  table.add(object(Kind::kStream, 1, 5));
  table.end_context(5, {});
  EXPECT_EQ(left(table), 0u);
  EXPECT_FALSE(table.find_ended(Kind::kStream, 1));
  table.take(Kind::kContext, 5);
  table.ended(Kind::kContext, 5, 0, {});
  EXPECT_FALSE(table.find_ended(Kind::kContext, 5));
}

TEST(ObjectTable, ForgetsTheOldestThatEnded) {
  ObjectTable table;
  for (std::uint64_t i = 1; i <= 1025; ++i) end(table, Kind::kEvent, i);
  EXPECT_FALSE(table.find_ended(Kind::kEvent, 1));
  EXPECT_TRUE(table.find_ended(Kind::kEvent, 2));
  EXPECT_TRUE(table.find_ended(Kind::kEvent, 1025));
  table.clear(true);
}

TEST(ObjectTable, CountsRetainsByWhoMadeThem) {
  ObjectTable table;
  table.retained(0, 11);
  table.retained(0, 11);
  table.retained(1, 12);
  table.released(0, 13);
  const auto all = table.all(kPatience);
  ASSERT_EQ(all->retained.size(), 2u);
  EXPECT_EQ(all->retained[0].count, 2u);
  ASSERT_EQ(all->released.size(), 1u);
  EXPECT_EQ(all->released[0].stack, 13u);
}

TEST(ObjectTable, AChildOfForkStartsFromNothing) {
  ObjectTable table;
  table.add(object(Kind::kStream, 7));
  ASSERT_TRUE(table.lock_for_fork());
  table.unlock_after_fork();
  table.clear(true);
  EXPECT_EQ(left(table), 0u);
}

TEST(ObjectTable, PartsEndWithTheirObject) {
  ObjectTable table;
  table.add(object(Kind::kModule, 5));
  table.add_part(Kind::kFunction, 1, Kind::kModule, 5);
  table.add_part(Kind::kFunction, 2, Kind::kModule, 6);
  table.add_part_beside(Kind::kFunction, 3, 1);
  table.add_part(Kind::kGlobal, 100, Kind::kModule, 5, 8);
  end(table, Kind::kModule, 5);
  const auto ended_object = table.find_ended(Kind::kFunction, 1);
  ASSERT_TRUE(ended_object);
  EXPECT_EQ(ended_object->object.kind, ObjectRef::Kind::kFunction);
  EXPECT_EQ(ended_object->object.ended.call, 4u);
  EXPECT_FALSE(ended_object->with_context);
  EXPECT_FALSE(table.find_ended(Kind::kFunction, 2)) << "of another module";
  EXPECT_TRUE(table.find_ended(Kind::kFunction, 3)) << "of the same one";
  ASSERT_TRUE(table.find_ended_global(107));
  EXPECT_EQ(table.find_ended_global(107)->object.value, 100u);
  EXPECT_FALSE(table.find_ended_global(108));
  EXPECT_FALSE(table.find_ended_global(99));
}

TEST(ObjectTable, PartsThatAreGivenOutAgainLive) {
  ObjectTable table;
  table.add_part(Kind::kFunction, 1, Kind::kModule, 5);
  table.add_part(Kind::kGlobal, 100, Kind::kModule, 5, 8);
  end(table, Kind::kModule, 5);
  table.add_part(Kind::kFunction, 1, Kind::kModule, 6);
  table.add_part(Kind::kGlobal, 100, Kind::kModule, 6, 8);
  EXPECT_FALSE(table.find_ended(Kind::kFunction, 1));
  EXPECT_FALSE(table.find_ended_global(100));
  // The driver returned the function before the end of the first module was known.
  table.take(Kind::kModule, 6);
  table.add_part(Kind::kFunction, 1, Kind::kModule, 7);
  table.ended(Kind::kModule, 6, 1, {.call = 4});
  EXPECT_FALSE(table.find_ended(Kind::kFunction, 1));
  // A new module has the handle of a module whose end cuvmm did not see: it has none of the old
  // module's functions.
  table.add(object(Kind::kModule, 7));
  end(table, Kind::kModule, 7);
  EXPECT_FALSE(table.find_ended(Kind::kFunction, 1));
}

TEST(ObjectTable, PartsEndWithTheContext) {
  ObjectTable table;
  table.add(object(Kind::kModule, 2, 6));
  table.add_part(Kind::kFunction, 1, Kind::kModule, 2);
  table.end_context(6, {.call = 9});
  const auto ended_object = table.find_ended(Kind::kFunction, 1);
  ASSERT_TRUE(ended_object);
  EXPECT_TRUE(ended_object->with_context);
}

}  // namespace
}  // namespace cuvmm::shim
