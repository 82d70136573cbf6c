// SPDX-License-Identifier: Apache-2.0
// Objects with which other threads work while the process ends are no leaks.
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_exit_test {
namespace {

constexpr std::uint32_t kWorker = 7, kEnded = 8;
constexpr std::uint32_t kThreads[] = {3, kWorker, 11};
const StillRunning kRunning{std::span<const std::uint32_t>(kThreads)};

bool none_open(const Export&) { return false; }
bool all_open(const Export&) { return true; }

/// An allocation that the thread `maker` made.
Handle created_by(World& w, std::uint32_t maker, Handle value = 0x100) {
  const CUmemAllocationProp prop = device_prop();
  Origin at = w.at();
  at.thread = maker;
  Handle handle = value;
  w.accept(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop}, {}, at);
  return handle;
}

TEST(AtExit, MemoryThatARunningThreadHasYetToMapIsNoLeak) {
  World w;
  const Handle handle = created_by(w, kWorker);
  EXPECT_TRUE(check_exit(w.model, none_open, kRunning).empty());
  EXPECT_FALSE(leaks(w.model, *w.model.allocation(handle), kRunning));
}

TEST(AtExit, ThatOfAThreadThatEndedOrOfTheOneThatExitsIsALeak) {
  World w;
  const Handle handle = created_by(w, kEnded);
  EXPECT_EQ(check_exit(w.model, none_open, kRunning).size(), 1u);
  EXPECT_TRUE(leaks(w.model, *w.model.allocation(handle), kRunning));
  created_by(w, kWorker, 0x200);
  EXPECT_EQ(check_exit(w.model, none_open).size(), 2u) << "nobody goes on";
}

TEST(AtExit, OfAnUnknownMakerNothingIsAssumed) {
  World w;
  w.create(0x100, 1);
  EXPECT_EQ(check_exit(w.model, none_open, kRunning).size(), 1u);
}

// Between the unmap and the release of an allocation, and between a retain and its release.
TEST(AtExit, WhoTouchedTheMemoryLastMayGoOnWithIt) {
  for (const std::uint32_t thread : {kWorker, kEnded}) {
    World w;
    w.mapped(kBase, 1);
    Origin at = w.at();
    at.thread = thread;
    const calls::MemUnmap unmap{.ptr = kBase, .size = kGranule};
    w.accept(unmap, {}, at);
    EXPECT_EQ(check_exit(w.model, none_open, kRunning).empty(), thread == kWorker);
    World r;
    Handle handle = r.create(0x100, 1);
    at = r.at();
    at.thread = thread;
    r.accept(calls::MemRetainAllocationHandle{.handle = &handle}, {}, at);
    EXPECT_EQ(check_exit(r.model, none_open, kRunning).empty(), thread == kWorker);
  }
}

// A retain makes nothing.
TEST(AtExit, AnAllocationIsNotMadeByTheCallThatRetainedIt) {
  World seen;
  const Handle handle = seen.create(0x100, 1);
  seen.retain(handle);
  const Violations both = check_exit(seen.model, none_open);
  ASSERT_EQ(both.size(), 1u);
  ASSERT_EQ(both.front().objects.size(), 2u);
  EXPECT_STREQ(how(both.front().objects[0]), "made");
  EXPECT_EQ(both.front().objects[0].made.call, 1u);
  EXPECT_STREQ(how(both.front().objects[1]), "retained");
  EXPECT_EQ(both.front().objects[1].made.call, 2u);

  World unseen;  // the model did not see the creation
  unseen.retain(0x300);
  const Violations one = check_exit(unseen.model, none_open);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(one.front().objects.size(), 1u);
  EXPECT_STREQ(how(one.front().objects[0]), "retained");
  EXPECT_STREQ(name(one.front().objects[0].kind), "allocation");
}

TEST(AtExit, AReleaseIsMissingForTheCreateOrForTheRetain) {
  World w;
  const Handle handle = w.create(0x100, 1);
  w.retain(handle);
  w.accept(calls::MemRelease{.handle = handle});
  const Violations retained = check_exit(w.model, none_open);
  ASSERT_EQ(retained.size(), 1u);
  EXPECT_EQ(retained.front().rule, Rule::kCreateLeak);
  EXPECT_NE(fix_of(retained.front()).find("and once for each cuMemRetainAllocationHandle"),
            std::string::npos);

  World other;
  other.create(0x100, 1);
  const Violations created = check_exit(other.model, none_open);
  ASSERT_EQ(created.size(), 1u);
  EXPECT_EQ(fix_of(created.front()), info(Rule::kCreateLeak).fix);
}

TEST(AtExit, ADescriptorThatARunningThreadHasJustExportedIsNoLeak) {
  for (const std::uint32_t thread : {kWorker, kEnded}) {
    World w;
    const Handle handle = w.create(0x100, 1);
    int fd = 9;
    calls::MemExportToShareableHandle call;
    call.shareableHandle = &fd;
    call.handle = handle;
    call.handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    Origin at = w.at();
    at.thread = thread;
    w.accept(call, {}, at);
    w.release(handle);
    EXPECT_EQ(check_exit(w.model, all_open, kRunning).empty(), thread == kWorker);
  }
}

// Ranges that one place of the program made in turn; each was emptied before the next was made.
World used_up(unsigned count) {
  World w;
  for (unsigned i = 0; i < count; ++i) {
    const Address base = kBase + 4 * i * kGranule;
    const Handle handle = w.mapped(base, 1, 0x100 + i);
    w.unmap(base, 1);
    w.release(handle);
  }
  return w;
}

TEST(AtExit, ReservationsThatNobodyComesBackToAreOneLeakWithACount) {
  const World w = used_up(1024);
  const Violations leaks = check_exit(w.model, none_open);
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(leaks[0].rule, Rule::kReserveLeak);
  EXPECT_EQ(leaks[0].count, 1024u);
  EXPECT_NE(leaks[0].message.find("1024 reservations (2 GiB together)"), std::string::npos)
      << leaks[0].message;
  EXPECT_EQ(leaks[0].objects.front().value, kBase) << "the first one";
}

// Ranges that allocators may have at the end, all legal: still mapped, never mapped, grown and
// shrunk, emptied together, used again before the end.
TEST(AtExit, ReservationsThatAProgramMayUseAgainAreNoLeak) {
  World alive;
  for (unsigned i = 0; i < 5; ++i) alive.mapped(kBase + 4 * i * kGranule, 1, 0x100 + i);
  for (unsigned i = 5; i < 9; ++i) alive.reserve(kBase + 4 * i * kGranule, 1);
  EXPECT_TRUE(check_exit(alive.model, none_open).empty());
  World asleep;
  for (unsigned i = 0; i < 20; ++i) asleep.mapped(kBase + 4 * i * kGranule, 1, 0x100 + i);
  for (unsigned i = 0; i < 20; ++i) {
    asleep.unmap(kBase + 4 * i * kGranule, 1);
    asleep.release(0x100 + i);
  }
  EXPECT_TRUE(check_exit(asleep.model, none_open).empty());
  World grown;
  grown.reserve(kBase, 4);
  for (unsigned i = 0; i < 4; ++i) {
    grown.create(0x100 + i, 1);
    grown.map(kBase + i * kGranule, 1, 0x100 + i);
    grown.release(0x100 + i);
  }
  grown.unmap(kBase, 4);
  EXPECT_TRUE(check_exit(grown.model, none_open).empty());
}

TEST(AtExit, OtherCodesReservationsSayNothingOfOnes) {
  World w;
  for (unsigned i = 0; i < 6; ++i) {
    CUdeviceptr base = kBase + 4 * i * kGranule;
    Origin at = w.at();
    at.stack = 1 + i % 3;  // each of three places makes two
    w.accept(calls::MemAddressReserve{.ptr = &base, .size = kGranule}, {}, at);
    const Handle handle = w.create(0x100 + i, 1);
    w.map(base, 1, handle);
    w.unmap(base, 1);
    w.release(handle);
  }
  EXPECT_TRUE(check_exit(w.model, none_open).empty());
}

TEST(AtExit, ARangeThatARunningThreadEmptiedLastMayBeOnItsWay) {
  World w = used_up(2);
  const Address base = kBase + 8 * kGranule;
  const Handle handle = w.mapped(base, 1, 0x300);
  Origin at = w.at();
  at.thread = kWorker;
  w.accept(calls::MemUnmap{.ptr = base, .size = kGranule}, {}, at);
  w.release(handle);
  EXPECT_TRUE(check_exit(w.model, none_open, kRunning).empty());
  EXPECT_EQ(check_exit(w.model, none_open).size(), 1u) << "nobody goes on";
}

// A refused unmap leaves the range as it was.
TEST(AtExit, ARefusedUnmapEmptiesNothing) {
  World w;
  w.mapped(kBase, 1);
  const calls::MemUnmap unmap{.ptr = kBase, .size = kGranule};
  const Origin at = w.at();
  Retired retired;
  w.model.begin(unmap, at, retired);
  EXPECT_EQ(w.model.reservation_at(kBase)->unmapped.call, at.call);
  w.model.undo(unmap, at, retired);
  EXPECT_EQ(w.model.reservation_at(kBase)->unmapped.call, 0u);
  EXPECT_FALSE(w.model.reservation_at(kBase)->reused);
}

// The process ends in a signal handler: the interrupted thread may still be working with the
// objects that it made last.
TEST(AtExit, WhatAnInterruptedThreadMadeLatelyIsNoLeak) {
  World w;
  const Handle handle = created_by(w, kEnded);
  const std::uint64_t made = w.model.allocation(handle)->made.call;
  StillRunning running = kRunning;
  running.interrupted = kEnded;
  running.since = made;
  EXPECT_TRUE(check_exit(w.model, none_open, running).empty());
  running.since = made + 1;
  EXPECT_EQ(check_exit(w.model, none_open, running).size(), 1u) << "made long ago";
  running = kRunning;
  running.since = made;
  EXPECT_EQ(check_exit(w.model, none_open, running).size(), 1u) << "not interrupted";
}

}  // namespace
}  // namespace cuvmm::testing::check_exit_test
