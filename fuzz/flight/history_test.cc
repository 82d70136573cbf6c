// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/history.h"

#include <gtest/gtest.h>

namespace cuvmm::fuzz::flight {
namespace {

using Kind = History::Kind;

TEST(FlightHistory, WorkOfOneStreamComesInOrder) {
  History h;
  const int s = h.open(16, Kind::kNonBlocking);
  const Node first = h.add(s), second = h.add(s);
  EXPECT_TRUE(h.leads_to(first, second));
  EXPECT_FALSE(h.leads_to(second, first));
  EXPECT_TRUE(h.before_next(second, s));
}

TEST(FlightHistory, AnEventOrdersWhatWaitsForIt) {
  History h;
  const int s = h.open(16, Kind::kNonBlocking), t = h.open(32, Kind::kNonBlocking);
  const Node work = h.add(s), record = h.record(s);
  EXPECT_FALSE(h.before_next(work, t));
  h.add(t, {}, record);
  EXPECT_TRUE(h.before_next(work, t));
}

TEST(FlightHistory, TheLegacyStreamAndBlockingOnesWaitForEachOther) {
  History h;
  const int legacy = h.find(0, 0), blocking = h.open(16, Kind::kBlocking);
  const int apart = h.open(32, Kind::kNonBlocking), other = h.open(48, Kind::kBlocking);
  const Node work = h.add(blocking), alone = h.add(apart);
  EXPECT_FALSE(h.before_next(work, other)) << "blocking streams do not wait for each other";
  EXPECT_TRUE(h.before_next(work, legacy));
  EXPECT_FALSE(h.before_next(alone, legacy));
  const Node between = h.add(legacy);
  EXPECT_TRUE(h.before_next(work, other));
  EXPECT_TRUE(h.before_next(between, other));
  EXPECT_FALSE(h.before_next(between, apart));
}

TEST(FlightHistory, AWaitForABlockingStreamIsNoneForLaterLegacyWork) {
  History h;
  const int legacy = h.find(0, 0), blocking = h.open(16, Kind::kBlocking);
  const Node work = h.add(blocking), later = h.add(legacy);
  h.learn(h.awaited(blocking));
  EXPECT_TRUE(h.piece(work).known);
  EXPECT_FALSE(h.piece(later).known);
  h.learn(h.awaited(legacy));
  EXPECT_TRUE(h.piece(later).known);
}

TEST(FlightHistory, AnEventOfABlockingStreamIsBehindTheLegacyStreamButTheStreamIsNot) {
  History h;
  const int legacy = h.find(0, 0), blocking = h.open(16, Kind::kBlocking);
  const Node early = h.record(blocking), work = h.add(legacy);
  const Node record = h.record(blocking);
  h.wait(blocking, early);
  EXPECT_TRUE(h.leads_to(work, record));
  EXPECT_TRUE(h.before_next(work, blocking));
  h.learn(h.awaited(blocking));
  EXPECT_FALSE(h.piece(work).known);
  EXPECT_FALSE(h.piece(record).known);
  h.add(blocking);
  h.learn(h.awaited(blocking));
  EXPECT_TRUE(h.piece(work).known);
  EXPECT_TRUE(h.piece(record).known);
}

TEST(FlightHistory, AWaitForTheLegacyStreamOrForAllIsOneForRecords) {
  History h;
  const int legacy = h.find(0, 0), blocking = h.open(16, Kind::kBlocking);
  h.add(legacy);
  const Node first = h.record(blocking);
  h.learn(h.awaited(legacy));
  EXPECT_TRUE(h.piece(first).known);
  const Node second = h.record(blocking);
  h.learn(h.everything());
  EXPECT_TRUE(h.piece(second).known);
}

TEST(FlightHistory, AThreadsDefaultStreamIsItsOwn) {
  History h;
  const int mine = h.find(2, 0);
  EXPECT_EQ(h.find(2, 0), mine);
  EXPECT_NE(h.find(2, 1), mine);
  EXPECT_EQ(h.find(0, 1), h.find(1, 0));
  EXPECT_EQ(h.find(77, 0), -1);
}

}  // namespace
}  // namespace cuvmm::fuzz::flight
