// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/writer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "recorder/last_calls/reading.h"
#include "recorder/new_file.h"

namespace cuvmm::last_calls {
namespace {

Words words_of_unmap(std::uint64_t base, std::uint64_t size) {
  return words_of(calls::MemUnmap{.ptr = base, .size = size});
}

/// A writer into memory, and a reader of it.
class Ring {
 public:
  Ring() {
    fill_rows(image_->entries);
    writer.start(image_.get());
  }
  Reading read() const {
    Reading reading;
    EXPECT_EQ(read_image(bytes(), reading), "");
    return reading;
  }
  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(image_.get()), sizeof(Image)};
  }
  Image& image() { return *image_; }

  Writer writer;
  ThreadPlace me;

 private:
  std::unique_ptr<Image> image_ = std::make_unique<Image>();
};

TEST(CallWords, AreTheArgumentsThatTellMost) {
  const calls::MemMap map{.ptr = 0x7000, .size = 5, .offset = 7, .handle = 0x99, .flags = 3};
  EXPECT_EQ(words_of(map), (Words{0x7000, 5, 7, 0x99}));
  // A call with more than four arguments keeps addresses and sizes before flags. A launch keeps
  // function and stream.
  calls::LaunchKernel launch{};
  launch.f = reinterpret_cast<CUfunction>(0x11);
  launch.gridDimX = 64;
  launch.hStream = reinterpret_cast<CUstream>(0x22);
  const Words words = words_of(launch);
  EXPECT_EQ(words[0], 0x11u);
  EXPECT_EQ(words[1], 64u);
  EXPECT_EQ(words[3], 0x22u);
}

TEST(Writer, KeepsACallAndItsResult) {
  Ring ring;
  const auto first = ring.writer.begin(ring.me, EntryPoint::kMemUnmap, words_of_unmap(0x7000, 4));
  const Reading during = ring.read();
  ASSERT_EQ(during.pending.size(), 1u);
  EXPECT_EQ(ring.me.ticks, ring.image().calls[0].ticks);
  EXPECT_EQ(during.pending[0].thread, static_cast<std::uint32_t>(::gettid()));
  EXPECT_EQ(during.entry(during.pending[0])->name, "cuMemUnmap");
  EXPECT_EQ(during.entry(during.pending[0])->words, (std::vector<std::string>{"ptr", "size"}));
  EXPECT_EQ(during.pending[0].words[0], 0x7000u);

  ring.writer.end(ring.me, first, CUDA_ERROR_INVALID_VALUE);
  const Reading after = ring.read();
  EXPECT_TRUE(after.pending.empty());
  ASSERT_EQ(after.calls.size(), 1u);
  EXPECT_EQ(after.calls[0].end, CallSeen::End::kReturned);
  EXPECT_EQ(after.calls[0].result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(after.torn, 0u);
}

TEST(Writer, WithoutAnImageDoesNothing) {
  Writer writer;
  ThreadPlace me;
  EXPECT_EQ(writer.begin(me, EntryPoint::kMemUnmap, {}), 0u);
  writer.end(me, 0, 0);
  writer.note_end(me, {});
  EXPECT_FALSE(writer.begin_fault(700, 1));
  EXPECT_EQ(me.place, 0u);
  EXPECT_EQ(me.ticks, 0u);
}

TEST(Writer, ForgetsTheOldestButNotWhatIsStillInTheDriver) {
  Ring ring;
  ThreadPlace other{.thread = 77, .place = 5};
  const auto stuck = ring.writer.begin(other, EntryPoint::kStreamSynchronize, {});
  for (std::uint64_t i = 0; i < kCalls + 10; ++i) {
    const auto call = ring.writer.begin(ring.me, EntryPoint::kMemUnmap, words_of_unmap(i, 1));
    ring.writer.end(ring.me, call, 0);
  }
  const Reading reading = ring.read();
  ASSERT_EQ(reading.calls.size(), kCalls);
  EXPECT_EQ(reading.total_calls, kCalls + 11);
  EXPECT_EQ(reading.calls.back().words[0], kCalls + 9);
  EXPECT_EQ(reading.calls.front().words[0], 10u);
  ASSERT_EQ(reading.pending.size(), 1u);
  EXPECT_EQ(reading.pending[0].sequence, stuck);
  EXPECT_EQ(reading.pending[0].thread, 77u);
  // Another call's record is in its place now; that call's result must stay.
  ring.writer.end(other, stuck, 999);
  EXPECT_TRUE(ring.read().pending.empty());
  for (const CallSeen& call : ring.read().calls) EXPECT_EQ(call.result, 0u);
}

// A newer call takes its place in the table of calls; the image keeps its record elsewhere.
TEST(Writer, OfACallThatWaitsTheArgumentsStay) {
  Ring ring;
  ThreadPlace other{.thread = 77, .place = 5};
  const auto fill = [&](std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) {
      ring.writer.end(ring.me, ring.writer.begin(ring.me, EntryPoint::kMemUnmap, {}), 0);
    }
  };
  for (std::uint64_t round = 1; round <= 3; ++round) {
    const auto stuck = ring.writer.begin(other, EntryPoint::kMemCreate, {round, 2, 3, 4});
    EXPECT_EQ(ring.writer.current(other), stuck);
    fill(3 * kCalls);
    const Reading reading = ring.read();
    ASSERT_EQ(reading.pending.size(), 1u);
    EXPECT_EQ(reading.pending[0].sequence, stuck);
    EXPECT_EQ(reading.pending[0].words, (Words{round, 2, 3, 4}));
    EXPECT_EQ(reading.entry(reading.pending[0])->name, "cuMemCreate");
    ring.writer.end(other, stuck, 0);
    EXPECT_TRUE(ring.read().pending.empty());
    // A newer call in the thread's slot is the pending call.
    const auto next = ring.writer.begin(other, EntryPoint::kMemRelease, {});
    ASSERT_EQ(ring.read().pending.size(), 1u);
    EXPECT_EQ(ring.read().pending[0].sequence, next);
    ring.writer.end(other, next, 0);
  }
}

// Some threads wait in a call while other threads replace their records.
TEST(Writer, WhoeverReadsWhileCallsWaitSeesWholeRecords) {
  Ring ring;
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      ThreadPlace me;
      for (std::uint64_t i = 0; i < 60; ++i) {
        const auto slow = ring.writer.begin(me, EntryPoint::kMemCreate, {i, ~i, i, ~i});
        ThreadPlace fast{.thread = 1, .place = kThreads + 1};
        for (std::size_t n = 0; n < kCalls; ++n) {
          ring.writer.end(fast, ring.writer.begin(fast, EntryPoint::kMemUnmap, {n, ~n, n, ~n}), 0);
        }
        ring.writer.end(me, slow, 0);
      }
      running.fetch_sub(1);
    });
  }
  do {
    for (const CallSeen& call : ring.read().pending) ASSERT_EQ(call.words[0], ~call.words[1]);
  } while (running.load() != 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(ring.read().pending.empty());
}

TEST(Writer, KeepsEndsWithTheirStack) {
  Ring ring;
  const std::uintptr_t frames[] = {0x10, 0x20, 0x30};
  const auto call = ring.writer.begin(ring.me, EntryPoint::kMemUnmap, words_of_unmap(0x7000, 4));
  EXPECT_FALSE(ring.writer.knows_stack(70'000));
  ring.writer.note_stack(70'000, frames);
  EXPECT_TRUE(ring.writer.knows_stack(70'000));
  ring.writer.note_end(ring.me, {ObjectKind::kMapping, 3, 0x7000, 4, 11, 12, 70'000});
  const Reading reading = ring.read();
  ASSERT_EQ(reading.ends.size(), 1u);
  const EndSeen& end = reading.ends[0];
  EXPECT_EQ(end.kind, ObjectKind::kMapping);
  EXPECT_EQ(end.device, 3);
  EXPECT_EQ(end.base, 0x7000u);
  EXPECT_EQ(end.size, 4u);
  EXPECT_EQ(end.made, 11u);
  EXPECT_EQ(end.ended, 12u);
  EXPECT_EQ(end.call, call);
  EXPECT_EQ(ring.image().ends[0].ticks, ring.me.ticks);
  EXPECT_EQ(end.frames, (std::vector<std::uint64_t>{0x10, 0x20, 0x30}));
}

TEST(Writer, AStackGivesItsPlaceToANewerOne) {
  Ring ring;
  const std::uintptr_t frames[] = {0x10}, newer[] = {0x20};
  std::uintptr_t deep[kFrames + 5];
  std::fill(std::begin(deep), std::end(deep), std::uintptr_t{7});
  ring.writer.note_stack(1, frames);
  ring.writer.note_stack(2, deep);
  for (const std::uint32_t stack : {0u, 1u, 2u}) {
    ring.writer.note_end(ring.me, {ObjectKind::kMapping, 0, 0x7000, 4, 1, 2, stack});
  }
  const auto frames_of = [&](std::size_t end) { return ring.read().ends[end].frames; };
  EXPECT_TRUE(frames_of(0).empty());
  EXPECT_EQ(frames_of(1), (std::vector<std::uint64_t>{0x10}));
  EXPECT_EQ(frames_of(2), (std::vector<std::uint64_t>(kFrames, 7)));
  ring.writer.note_stack(1 + kStacks, newer);
  EXPECT_FALSE(ring.writer.knows_stack(1));
  EXPECT_TRUE(frames_of(1).empty()) << "not the frames of another stack";
  // A process that ended while it wrote the stack.
  ring.image().stacks[2].frames[3] ^= 0x5a;
  EXPECT_TRUE(frames_of(2).empty());
}

TEST(Writer, ATornRecordIsLeftOutAndCounted) {
  for (const std::size_t word : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    Ring ring;
    for (int i = 0; i < 3; ++i) ring.writer.begin(ring.me, EntryPoint::kMemUnmap, {});
    ring.writer.note_end(ring.me, {ObjectKind::kMapping, 0, 0x7000, 4});
    reinterpret_cast<std::uint64_t*>(&ring.image().calls[1])[word] ^= 0x5a;
    reinterpret_cast<std::uint64_t*>(&ring.image().ends[0])[word] ^= 0x5a;
    const Reading reading = ring.read();
    EXPECT_EQ(reading.calls.size(), 2u) << word;
    EXPECT_EQ(reading.ends.size(), 0u) << word;
    EXPECT_EQ(reading.torn, 2u) << word;
  }
}

TEST(Writer, ThreadsWriteAtOnceAndWhoeverReadsSeesWholeRecords) {
  Ring ring;
  constexpr int kWriters = 4, kEach = 20'000;
  std::atomic<int> running{kWriters};
  std::vector<std::thread> threads;
  for (int t = 0; t < kWriters; ++t) {
    threads.emplace_back([&ring, &running, t] {
      ThreadPlace me;
      for (std::uint64_t i = 0; i < kEach; ++i) {
        // Each word determines the other words.
        const std::uint64_t mark = static_cast<std::uint64_t>(t) << 32 | i;
        const auto call = ring.writer.begin(me, EntryPoint::kMemUnmap, {mark, ~mark, mark, ~mark});
        ring.writer.note_end(me, {ObjectKind::kMapping, t, mark, ~mark});
        ring.writer.end(me, call, static_cast<std::uint32_t>(t));
      }
      running.fetch_sub(1);
    });
  }
  std::size_t looks = 0;
  do {
    const Reading reading = ring.read();
    for (const CallSeen& call : reading.calls) {
      ASSERT_EQ(call.words[0], ~call.words[1]);
      ASSERT_EQ(call.words[0], call.words[2]);
      if (call.end == CallSeen::End::kReturned) {
        ASSERT_EQ(call.result, call.words[0] >> 32);
      }
    }
    for (const EndSeen& end : reading.ends) ASSERT_EQ(end.base, ~end.size);
    ++looks;
  } while (running.load() != 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(looks, 0u);
  const Reading reading = ring.read();
  EXPECT_EQ(reading.total_calls, static_cast<std::uint64_t>(kWriters) * kEach);
  EXPECT_EQ(reading.pending.size(), 0u);
}

TEST(Writer, ThreadsThatAreGoneLeaveTheirPlaces) {
  Ring ring;
  for (std::size_t i = 0; i < kThreads * 2; ++i) {
    std::thread([&] {
      ThreadPlace me;
      ring.writer.begin(me, EntryPoint::kMemUnmap, {});
      EXPECT_LE(me.place, kThreads) << i;
    }).join();
  }
}

TEST(Writer, OnlyTheFirstFaultCounts) {
  Ring ring;
  const auto first = ring.writer.begin(ring.me, EntryPoint::kStreamSynchronize, {});
  EXPECT_TRUE(ring.writer.begin_fault(700, first));
  EXPECT_FALSE(ring.writer.begin_fault(719, first + 1));
  EXPECT_EQ(ring.read().fault_result, 700u);
  EXPECT_EQ(ring.read().fault_call, first);
}

TEST(Writer, WhatItWroteStaysWhenTheProcessIsKilled) {
  const std::string path = ::testing::TempDir() + "/killed.ring";
  std::filesystem::remove(path);
  const pid_t child = ::fork();
  if (child == 0) {
    Writer writer;
    ThreadPlace me;
    recorder::NewFile file;
    if (file.create(path, kShape, kShape.bytes) != 0) ::_exit(1);
    file.describe("libfoo.so");
    auto* const image = static_cast<Image*>(file.memory());
    fill_rows(image->entries);
    writer.start(image);
    writer.end(me, writer.begin(me, EntryPoint::kMemCreate, {5}), 0);
    writer.begin(me, EntryPoint::kStreamSynchronize, {6});
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Reading reading;
  ASSERT_EQ(read_file(path, reading), "");
  EXPECT_EQ(reading.pid, child);
  EXPECT_EQ(reading.driver, "libfoo.so");
  EXPECT_EQ(reading.program, std::filesystem::read_symlink("/proc/self/exe").string());
  ASSERT_EQ(reading.pending.size(), 1u);
  EXPECT_EQ(reading.entry(reading.pending[0])->name, "cuStreamSynchronize");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cuvmm::last_calls
