// What other threads have on its way while the process ends is no leak.
#include <gtest/gtest.h>

#include "spec/testing/world.h"

namespace cuvmm::testing {
namespace {

constexpr std::uint32_t kWorker = 7, kEnded = 8;
constexpr std::uint32_t kThreads[] = {3, kWorker, 11};
const StillRunning kRunning{std::span<const std::uint32_t>(kThreads)};

bool none_open(const Export&) { return false; }
bool all_open(const Export&) { return true; }

/// An allocation of `maker`'s.
Handle created_by(World& w, std::uint32_t maker, Handle value = 0x100) {
  const CUmemAllocationProp prop = device_prop();
  Origin at = w.at();
  at.thread = maker;
  Handle handle = value;
  w.model.commit(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop}, Facts{}, at);
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

// Between its unmap and its release, and between a retain and the release of that.
TEST(AtExit, WhoTouchedTheMemoryLastMayGoOnWithIt) {
  for (const std::uint32_t thread : {kWorker, kEnded}) {
    World w;
    w.mapped(kBase, 1);
    Origin at = w.at();
    at.thread = thread;
    const calls::MemUnmap unmap{.ptr = kBase, .size = kGranule};
    w.model.bury(w.model.retire(unmap), at);
    EXPECT_EQ(check_exit(w.model, none_open, kRunning).empty(), thread == kWorker);
    World r;
    Handle handle = r.create(0x100, 1);
    at = r.at();
    at.thread = thread;
    r.model.commit(calls::MemRetainAllocationHandle{.handle = &handle}, at);
    EXPECT_EQ(check_exit(r.model, none_open, kRunning).empty(), thread == kWorker);
  }
}

TEST(AtExit, ADescriptorThatARunningThreadHasJustExportedIsNoLeak) {
  for (const std::uint32_t thread : {kWorker, kEnded}) {
    World w;
    const Handle handle = w.mapped(kBase, 1);
    int fd = 9;
    calls::MemExportToShareableHandle call;
    call.shareableHandle = &fd;
    call.handle = handle;
    call.handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    Origin at = w.at();
    at.thread = thread;
    w.model.commit(call, at);
    EXPECT_EQ(check_exit(w.model, all_open, kRunning).empty(), thread == kWorker);
  }
}

// The process ends in a signal handler: what its thread did lately, it was about to go on with.
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
}  // namespace cuvmm::testing
