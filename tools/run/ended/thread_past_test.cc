// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/thread_past.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Calls of two threads, a millisecond apart. The last call is `last_ns` old at the last moment.
class Past {
 public:
  Past() {
    calls_.entries = {{"cuMemCreate", {}, {}},
                      {"cuMemMap", {}, {}},
                      {"cuMemRelease", {}, {}},
                      {"cuLaunchKernel", {}, {}}};
    calls_.last_ns = 100 * kSecond;
  }
  Past& call(std::uint32_t thread, std::size_t entry, std::uint32_t result = 0) {
    for (last_calls::CallSeen& before : calls_.calls) before.ns += 1'000'000;
    last_calls::CallSeen seen;
    seen.sequence = ++calls_.total_calls;
    seen.thread = thread;
    seen.entry = entry;
    seen.result = result;
    seen.end = last_calls::CallSeen::End::kReturned;
    calls_.calls.push_back(seen);
    return *this;
  }
  Past& pending(std::uint32_t thread, std::size_t entry = kMap, std::uint64_t word = 0) {
    call(thread, entry);
    calls_.calls.back().words[2] = word;
    calls_.calls.back().end = last_calls::CallSeen::End::kPending;
    calls_.pending.push_back(calls_.calls.back());
    return *this;
  }
  // Many calls of thread 2 replace the records of thread 1, which has gone on after its call
  // `noted`.
  Past& flood(std::uint64_t noted) {
    calls_.calls.clear();
    for (int i = 0; i < 10; ++i) call(2, kLaunch);
    calls_.threads = {{1, noted}, {2, 0}};
    return *this;
  }
  // Asks about the memory that call 1 made and was the last to touch.
  LastWork work(const Death& death) const { return last_work(calls_, death, 1, 1, kObject); }
  bool gave_up(std::uint64_t died_later_ns = 0) const {
    return work(death(died_later_ns)) == LastWork::kGaveUp;
  }
  // gave_up() for the process's first thread, which waited for a processor for `waited_ns` since
  // then.
  bool gave_up(std::uint64_t died_later_ns, std::uint64_t waited_ns) const {
    Death known = death(died_later_ns);
    known.first_thread = 1;
    const std::uint64_t before = 7 * kSecond;
    known.end.looks = {{calls_.last_ns - kSecond, 0},
                       {calls_.last_ns + 1, before},
                       {known.end.ns, before + waited_ns}};
    return work(known) == LastWork::kGaveUp;
  }

  static constexpr std::uint64_t kObject = 0xe000000000;
  static constexpr std::size_t kCreate = 0, kMap = 1, kRelease = 2, kLaunch = 3;

  Death death(std::uint64_t later_ns) const {
    Death death;
    if (later_ns != 0) death.end.ns = death.end.latest_ns = calls_.last_ns + later_ns;
    death.last_number = calls_.total_calls;
    return death;
  }

 private:
  last_calls::Reading calls_;
};

TEST(ThreadPast, WhoJustMadeMemoryIsAtWorkWithIt) {
  EXPECT_FALSE(Past().call(1, Past::kCreate).gave_up());
  EXPECT_FALSE(Past().call(1, Past::kCreate).gave_up(kSecond / 10))
      << "it may wait for a processor";
}

TEST(ThreadPast, WhoMakesNoCallForLongHasGivenUp) {
  EXPECT_TRUE(Past().call(1, Past::kCreate).gave_up(kSecond));
  EXPECT_FALSE(Past().call(1, Past::kCreate).pending(1).gave_up(kSecond)) << "it waits in a call";
  EXPECT_TRUE(Past().call(1, Past::kCreate).pending(2).gave_up(kSecond)) << "another one does";
}

TEST(ThreadPast, NobodyKnowsWhereNobodySawTheEnd) {
  const Past past = Past().call(1, Past::kCreate);
  EXPECT_EQ(past.work({}), LastWork::kUnknown);
  Death death = past.death(kSecond / 10);
  EXPECT_EQ(past.work(death), LastWork::kAtWork);
  death.end.latest_ns += kSecond;
  EXPECT_EQ(past.work(death), LastWork::kUnknown) << "it may have ended a second later";
  death.end.ns = 0;
  EXPECT_EQ(past.work(death), LastWork::kUnknown);
  death.end.latest_ns -= kSecond;
  EXPECT_EQ(past.work(death), LastWork::kAtWork) << "it ended soon, whenever that was";
}

TEST(ThreadPast, WhoIsStoppedGivesNothingUp) {
  const Past past = Past().call(1, Past::kCreate);
  Death death = past.death(3 * kSecond);
  EXPECT_EQ(past.work(death), LastWork::kGaveUp);
  death.end.stopped_ns = death.end.ns - kSecond / 10;
  EXPECT_EQ(past.work(death), LastWork::kAtWork);
}

TEST(ThreadPast, WhoEndsTheProgramHasGivenUp) {
  Death by_itself = Past().death(0);
  by_itself.by_itself = true;
  EXPECT_EQ(Past().call(1, Past::kCreate).work(by_itself), LastWork::kUnknown);
  by_itself.first_thread = 1;
  EXPECT_EQ(Past().call(1, Past::kCreate).work(by_itself), LastWork::kGaveUp);
  EXPECT_NE(Past().call(1, Past::kCreate).pending(1).work(by_itself), LastWork::kGaveUp);
  EXPECT_NE(Past().call(2, Past::kCreate).call(1, Past::kCreate).work(by_itself), LastWork::kGaveUp)
      << "which of them did it?";
}

TEST(ThreadPast, NobodyKnowsOfAThreadThatWasCutOffBetweenTwoCalls) {
  const Past past = Past().call(1, Past::kCreate);
  Death death = past.death(kSecond / 10);
  death.cut = true;
  EXPECT_EQ(past.work(death), LastWork::kUnsure);
  EXPECT_EQ(Past().call(1, Past::kCreate).pending(1).work(death), LastWork::kAtWork)
      << "it was in a call";
  EXPECT_EQ(Past().call(1, Past::kCreate).call(1, Past::kMap, 4).work(death), LastWork::kAtWork)
      << "it waits since the driver's end";
}

TEST(ThreadPast, WhoDiesOfItsOwnSignalHasGivenUp) {
  const Past past = Past().call(1, Past::kCreate).call(2, Past::kCreate);
  Death death = past.death(kSecond / 10);
  death.cut = true;
  death.own_thread = 2;
  EXPECT_EQ(past.work(death), LastWork::kUnsure) << "another thread died";
  death.own_thread = 1;
  EXPECT_EQ(past.work(death), LastWork::kGaveUp);
  EXPECT_EQ(Past().call(1, Past::kCreate).pending(1).work(death), LastWork::kAtWork)
      << "it died in a call";
}

TEST(ThreadPast, WhatItWaitedForAProcessorDoesNotCount) {
  const Past past = Past().call(1, Past::kCreate);
  EXPECT_TRUE(past.gave_up(kSecond / 5, kSecond / 100));
  EXPECT_FALSE(past.gave_up(kSecond / 5, kSecond / 5)) << "it may have waited all the time";
  EXPECT_FALSE(past.gave_up(kSecond / 20, 0)) << "it may have been at work";
  EXPECT_TRUE(past.gave_up(kSecond, kSecond * 5)) << "no thread waits so long at once";
}

TEST(ThreadPast, WhoMakesOtherMemoryAndUsesThatHasGoneOn) {
  EXPECT_TRUE(Past().call(1, 0).call(1, Past::kCreate).call(1, Past::kMap).gave_up());
  EXPECT_TRUE(Past().call(1, 0).call(1, Past::kCreate).call(1, Past::kRelease).gave_up());
}

TEST(ThreadPast, WhoHasGoneOnMayBeInACallAboutOtherMemory) {
  const auto gone_on = [] { return Past().call(1, 0).call(1, Past::kCreate).call(1, Past::kMap); };
  EXPECT_TRUE(gone_on().pending(1).gave_up());
  EXPECT_TRUE(gone_on().pending(1, Past::kRelease, Past::kObject + 0x100).gave_up());
  EXPECT_FALSE(gone_on().pending(1, Past::kRelease, Past::kObject).gave_up())
      << "about this memory";
}

TEST(ThreadPast, CallsOfOtherThreadsDoNotHideThatOneHasGoneOn) {
  EXPECT_TRUE(Past().call(1, 0).call(1, Past::kCreate).call(1, Past::kMap).flood(2).gave_up());
  EXPECT_FALSE(Past().call(1, 0).call(1, Past::kMap).flood(1).gave_up()) << "nothing since";
  EXPECT_FALSE(Past().call(1, 0).flood(0).gave_up());
}

TEST(ThreadPast, SeveralPiecesAreMadeBeforeTheFirstIsMapped) {
  EXPECT_FALSE(Past().call(1, 0).call(1, Past::kCreate).call(1, Past::kCreate).gave_up());
  EXPECT_FALSE(Past().call(1, 0).call(1, Past::kMap).gave_up()) << "an older one";
}

TEST(ThreadPast, AnotherThreadAndRefusedCallsDoNotCount) {
  EXPECT_FALSE(Past().call(1, 0).call(2, Past::kCreate).call(2, Past::kMap).gave_up());
  EXPECT_FALSE(Past().call(1, 0).call(1, Past::kCreate).call(1, Past::kMap, 1).gave_up());
}

TEST(ThreadPast, WorkOfAnotherKindTellsAfterAWhile) {
  Past launches;
  launches.call(1, Past::kCreate);
  for (int i = 0; i < 400; ++i) launches.call(1, Past::kLaunch);
  EXPECT_FALSE(launches.gave_up()) << "not half a second yet";
  for (int i = 0; i < 200; ++i) launches.call(1, Past::kLaunch);
  EXPECT_TRUE(launches.gave_up());
  EXPECT_TRUE(launches.pending(1, Past::kLaunch).gave_up());
  EXPECT_FALSE(launches.pending(1, Past::kMap).gave_up());
}

TEST(ThreadPast, WhoWasToldOfTheDriversEndWaits) {
  EXPECT_FALSE(Past().call(1, Past::kCreate).call(1, Past::kMap, 4).gave_up(kSecond));
}

TEST(ThreadPast, NothingIsKnownWithoutCalls) { EXPECT_FALSE(Past().gave_up(kSecond)); }

}  // namespace
}  // namespace cuvmm::tools
