// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/order_state.h"

#include <gtest/gtest.h>

namespace cuvmm {
namespace {

using Kind = OrderState::Kind;

constexpr OrderState::ContextId kContext = 1;
constexpr OrderState::EventId kEvent = 7;

class Order : public ::testing::Test {
 protected:
  OrderState order;
  const StreamId legacy = order.open(kContext, Kind::kLegacy);
  const StreamId a = order.open(kContext, Kind::kNonBlocking);
  const StreamId b = order.open(kContext, Kind::kNonBlocking);
  const StreamId blocking = order.open(kContext, Kind::kBlocking);
  const StreamId other = order.open(kContext, Kind::kBlocking);
};

TEST_F(Order, WorkOfOneStreamComesInItsOrderAndIsUnfinished) {
  const Position first = order.queue(a);
  const Position second = order.queue(a);
  EXPECT_TRUE(order.comes_before(a, second, a));
  EXPECT_FALSE(order.finished(a, first));
}

TEST_F(Order, NonBlockingStreamsKnowNothingOfEachOtherNorOfTheDefaultStream) {
  const Position work = order.queue(a);
  order.queue(legacy);
  EXPECT_FALSE(order.comes_before(a, work, b));
  EXPECT_FALSE(order.comes_before(a, work, legacy));
}

TEST_F(Order, AWaitForABlockingStreamIsNoneForLegacyWorkThatCameLater) {
  order.queue(blocking);
  const Position work = order.queue(legacy);
  order.over(order.given(blocking));
  EXPECT_FALSE(order.finished(legacy, work));
  order.queue(blocking);
  order.over(order.given(blocking));
  EXPECT_TRUE(order.finished(legacy, work));
}

TEST_F(Order, AnEventOfABlockingStreamWaitsForTheLegacyStreamButTheStreamDoesNot) {
  const Position work = order.queue(legacy);
  order.record(kEvent, blocking);
  order.over(order.given(blocking));
  EXPECT_FALSE(order.finished(legacy, work));
  order.wait(a, kEvent);
  EXPECT_TRUE(order.comes_before(legacy, work, a));
  order.over(order.recorded(kEvent));
  EXPECT_TRUE(order.finished(legacy, work));
}

TEST_F(Order, ABlockingStreamThatWaitsForAnEventDoesNotWaitForTheLegacyStream) {
  order.record(kEvent, blocking);
  const Position work = order.queue(legacy), apart = order.queue(a);
  order.record(kEvent + 1, a);
  order.wait(blocking, kEvent);
  order.wait(blocking, kEvent + 1);
  order.over(order.given(blocking));
  EXPECT_TRUE(order.finished(a, apart));
  EXPECT_FALSE(order.finished(legacy, work));
}

TEST_F(Order, WorkOfABlockingStreamWaitsForTheLegacyStreamBehindAnEventToo) {
  order.record(kEvent, blocking);
  const Position work = order.queue(legacy);
  order.record(kEvent + 1, blocking);
  order.wait(blocking, kEvent);
  EXPECT_TRUE(order.comes_before(legacy, work, blocking));
  order.queue(blocking);
  order.over(order.given(blocking));
  EXPECT_TRUE(order.finished(legacy, work));
}

TEST_F(Order, ABlockingStreamWaitsForLegacyWorkBehindWhichTheEventIs) {
  const Position work = order.queue(legacy);
  order.record(kEvent, other);
  order.wait(blocking, kEvent);
  order.over(order.given(blocking));
  EXPECT_TRUE(order.finished(legacy, work));
}

TEST_F(Order, ARecordOnTheLegacyStreamIsABarrierAsWorkIs) {
  const Position work = order.queue(blocking);
  order.record(kEvent, legacy);
  EXPECT_TRUE(order.comes_before(blocking, work, other));
}

TEST_F(Order, AStreamHangsOnAnotherWhereItWaitsForNothingElse) {
  order.queue(legacy);
  order.wait(blocking, kEvent);
  EXPECT_TRUE(order.hangs_on(blocking, legacy)) << "the event was never recorded";
  order.queue(a);
  order.record(kEvent, a);
  order.wait(blocking, kEvent);
  EXPECT_FALSE(order.hangs_on(blocking, legacy));
  order.over(order.given(a));
  EXPECT_TRUE(order.hangs_on(blocking, legacy));
  order.queue(blocking);
  EXPECT_FALSE(order.hangs_on(blocking, legacy));
}

TEST_F(Order, TheLegacyStreamMayBeBusyForAStreamThatWasDestroyed) {
  order.queue(legacy);
  EXPECT_TRUE(order.busy_for_itself(legacy));
  order.queue(a);
  EXPECT_TRUE(order.busy_for_itself(legacy)) << "it does not wait for such a stream";
  order.queue(blocking);
  order.close(blocking);
  EXPECT_FALSE(order.busy_for_itself(legacy));
  order.over(order.given_to(kContext));
  EXPECT_TRUE(order.busy_for_itself(legacy));
}

TEST_F(Order, AnEventOrdersWhatWasQueuedBeforeItOnly) {
  const Position before = order.queue(a);
  order.record(kEvent, a);
  const Position after = order.queue(a);
  order.wait(b, kEvent);
  EXPECT_TRUE(order.comes_before(a, before, b));
  EXPECT_FALSE(order.comes_before(a, after, b));
}

TEST_F(Order, AnEventHandsOnWhatItsStreamWaitedFor) {
  const Position work = order.queue(a);
  order.record(kEvent, a);
  order.wait(b, kEvent);
  order.record(kEvent + 1, b);
  order.wait(blocking, kEvent + 1);
  EXPECT_TRUE(order.comes_before(a, work, blocking));
}

TEST_F(Order, AnEventThatWasRecordedAgainStandsForTheNewRecord) {
  const Position work = order.queue(a);
  order.record(kEvent, a);
  order.record(kEvent, b);
  order.over(order.recorded(kEvent));
  EXPECT_FALSE(order.finished(a, work));
}

TEST_F(Order, AnEventThatWasNeverRecordedOrdersNothing) {
  const Position work = order.queue(a);
  order.wait(b, kEvent);
  order.over(order.recorded(kEvent));
  EXPECT_FALSE(order.comes_before(a, work, b));
  EXPECT_FALSE(order.finished(a, work));
}

TEST_F(Order, TheLegacyStreamIsABarrierAmongBlockingStreams) {
  const Position before = order.queue(blocking);
  EXPECT_FALSE(order.comes_before(blocking, before, other));
  EXPECT_TRUE(order.comes_before(blocking, before, legacy));
  const Position barrier = order.queue(legacy);
  EXPECT_TRUE(order.comes_before(blocking, before, other));
  EXPECT_TRUE(order.comes_before(legacy, barrier, other));
  const Position after = order.queue(blocking);
  EXPECT_FALSE(order.comes_before(blocking, after, other));
}

TEST_F(Order, ToAskWhatTheLegacyStreamWouldWaitForIsNoBarrier) {
  const Position work = order.queue(blocking);
  EXPECT_TRUE(order.comes_before(blocking, work, legacy));
  EXPECT_FALSE(order.comes_before(blocking, work, other));
}

TEST_F(Order, ToWaitForTheLegacyStreamPutsNoBarrierThere) {
  const Position work = order.queue(blocking);
  const Clock given = order.given(legacy);  // a query may answer that the work is not over
  EXPECT_FALSE(order.comes_before(blocking, work, other));
  order.over(given);
  EXPECT_TRUE(order.finished(blocking, work));
}

TEST_F(Order, TheLegacyStreamOfAnotherContextIsNoBarrier) {
  const StreamId stranger = order.open(kContext + 1, Kind::kLegacy);
  const Position work = order.queue(blocking);
  order.queue(stranger);
  EXPECT_FALSE(order.comes_before(blocking, work, stranger));
  EXPECT_FALSE(order.comes_before(blocking, work, other));
}

TEST_F(Order, ASynchronisationFinishesWhatTheStreamWaitedForToo) {
  const Position work = order.queue(a);
  order.record(kEvent, a);
  const Position later = order.queue(a);
  order.wait(b, kEvent);
  order.over(order.given(b));
  EXPECT_TRUE(order.finished(a, work));
  EXPECT_FALSE(order.finished(a, later));
}

TEST_F(Order, AFinishedContextLeavesOtherContextsRunning) {
  const StreamId stranger = order.open(kContext + 1, Kind::kNonBlocking);
  const Position here = order.queue(a), there = order.queue(stranger);
  order.over(order.given_to(kContext));
  EXPECT_TRUE(order.finished(a, here));
  EXPECT_FALSE(order.finished(stranger, there));
}

TEST_F(Order, WorkOfADestroyedStreamGoesOnUntilSomethingBehindItIsOver) {
  const Position work = order.queue(a);
  order.record(kEvent, a);
  order.close(a);
  EXPECT_FALSE(order.finished(a, work));
  order.over(order.recorded(kEvent));
  EXPECT_TRUE(order.finished(a, work));
}

TEST_F(Order, WorkOfADestroyedContextIsOver) {
  const Position work = order.queue(a);
  order.close_context(kContext);
  EXPECT_TRUE(order.finished(a, work));
}

TEST_F(Order, WhatIsToldIsNotFinished) {
  const Position first = order.queue(a);
  const Position elsewhere = order.queue(blocking);
  order.tell(order.own(a));
  const Position later = order.queue(a);
  EXPECT_TRUE(order.reported(a, first));
  EXPECT_FALSE(order.reported(a, later));
  EXPECT_FALSE(order.reported(blocking, elsewhere));
  EXPECT_FALSE(order.finished(a, first));
  EXPECT_FALSE(order.comes_before(a, first, b));
  order.tell(order.everything());
  EXPECT_TRUE(order.reported(a, later));
  EXPECT_TRUE(order.reported(blocking, elsewhere));
}

TEST_F(Order, WhatComesBeforeTheNextWorkFollowsTheDefaultStreamsRules) {
  const Position work = order.queue(blocking);
  EXPECT_EQ(order.before_next(legacy).at(blocking), work);
  EXPECT_EQ(order.before_next(other).at(blocking), 0u);
  const Position in_legacy = order.queue(legacy);
  EXPECT_EQ(order.before_next(other).at(legacy), in_legacy);
  EXPECT_EQ(order.before_next(other).at(blocking), work);
  EXPECT_EQ(order.before_next(a).at(legacy), 0u);
  EXPECT_EQ(order.own(other).at(legacy), 0u) << "it has nothing to do yet";
}

TEST(Clock, ACapLeavesOutWhatIsBehindIt) {
  Clock clock;
  clock.raise(1, 5);
  clock.raise(2, 7);
  clock.cap(1, 3);
  clock.cap(2, 0);
  clock.cap(3, 1);
  EXPECT_EQ(clock.at(1), 3u);
  EXPECT_EQ(clock.size(), 1u);
}

}  // namespace
}  // namespace cuvmm
