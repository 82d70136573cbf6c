// SPDX-License-Identifier: Apache-2.0
// The streams about whose work cuvmm asks, and those about which it never does: default, destroyed
// and capturing streams.
#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "shim/base/in_flight.h"
#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using WorkStreams = WorkWorld;

// --- Streams

TEST_F(WorkStreams, ADestroyedStreamIsNeverAsked) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_OK(run(calls::StreamDestroy{s_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
  // The driver gives the handle out again.
  map();
  launch(s_, {kBase});
  EXPECT_EQ(asked("flags"), 2u) << "it is met again";
}

TEST_F(WorkStreams, WorkOfADestroyedStreamIsAskedForByAnEvent) {
  map();
  busy(s_);
  launch(s_, {kBase});
  answers.event_queries[event(0xee01)] = CUDA_ERROR_NOT_READY;
  EXPECT_OK(run(calls::StreamDestroy{s_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_EQ(asked("query"), 0u);
}

TEST_F(WorkStreams, WorkOfADestroyedStreamThatTheHostWaitedForIsOver) {
  map();
  busy(s_);
  launch(s_, {kBase});
  answers.event_queries[event(0xee01)] = CUDA_ERROR_NOT_READY;
  EXPECT_OK(run(calls::StreamDestroy{s_}));
  EXPECT_OK(run(calls::CtxSynchronize{}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkStreams, NoEventIsRecordedBehindAStreamThatIsIdleOrCaptures) {
  map();
  launch(s_, {kBase});
  run(calls::StreamSynchronize{s_});
  EXPECT_OK(run(calls::StreamDestroy{s_}));
  launch(t_, {kBase});
  run(calls::StreamBeginCapture{t_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {t_};
  EXPECT_OK(run(calls::StreamDestroy{t_}));
  EXPECT_EQ(asked("record"), 0u);
}

TEST_F(WorkStreams, OfManyDestroyedStreamsTheOldestAreForgotten) {
  map();
  for (std::uintptr_t i = 0; i < 200; ++i) {
    launch(stream(0x1000 + i), {kBase});
    EXPECT_OK(run(calls::StreamDestroy{stream(0x1000 + i)}));
  }
  EXPECT_LE(asked("create"), 66u);
}

TEST_F(WorkStreams, AStreamOfAContextThatEndedIsNeverAsked) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_OK(run(calls::CtxDestroy{answers.context}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

// Another thread destroys the stream just when cuvmm records one of its events there: cuvmm uses
// the event again.
TEST_F(WorkStreams, AStreamThatEndsMeanwhileKeepsNoEventOfOurs) {
  mode = AsyncMode::kExact;
  map();
  answers.while_recording = [&] {
    std::thread([&] { EXPECT_OK(run(calls::StreamDestroy{s_})); }).join();
  };
  launch(s_, {kBase});
  EXPECT_EQ(asked("create"), 1u);
  launch(t_, {kBase});
  EXPECT_EQ(asked("create"), 1u);
  EXPECT_EQ(asked("record"), 2u);
}

// The event ended with its context: a driver may crash when a call names the event again.
TEST_F(WorkStreams, AnEventOfAContextThatEndedIsNotUsedAgain) {
  mode = AsyncMode::kExact;
  map();
  answers.while_recording = [&] {
    std::thread([&] { EXPECT_OK(run(calls::CtxDestroy{answers.context})); }).join();
  };
  launch(s_, {kBase});
  map(kBase + kSize);
  launch(t_, {kBase + kSize});
  EXPECT_EQ(asked("create"), 2u);
}

// How often the thread has slept so far.
std::uint64_t sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  const std::string name = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size()));
  }
  return 0;
}

// A thread of a higher priority that waits must let the other one run on their processor.
TEST_F(WorkStreams, WhoWaitsForAQuestionSleeps) {
  const std::function<CUresult()> enders[] = {
      [&] { return run(calls::StreamDestroy{s_}); },
      [&] { return run(calls::CtxDestroy{answers.context}); }};
  for (const auto& end : enders) {
    map();
    busy(s_);
    launch(s_, {kBase});
    std::atomic<bool> asks = false;
    std::atomic<pid_t> waits = 0;
    bool slept = false;
    std::uint64_t before = 0;
    std::thread ender([&] {
      while (!asks) std::this_thread::yield();
      before = sleeps_of(::gettid());
      waits = ::gettid();
      EXPECT_OK(end());
    });
    answers.while_asked = [&] {
      asks = true;
      while (waits == 0) std::this_thread::yield();
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!slept && std::chrono::steady_clock::now() < limit) {
        slept = sleeps_of(waits) > before + 2;
      }
    };
    unmap();
    ender.join();
    EXPECT_TRUE(slept);
  }
}

// The driver may look for a pthread_cancel inside of a question: the thread must not end there, but
// at a cancellation point of its own.
TEST_F(WorkStreams, NoThreadIsCancelledInAQuestion) {
  mode = AsyncMode::kExact;
  map();
  launch(t_, {kBase});
  answers.cancels = true;
  bool returned = false;
  std::thread([&] {
    ::pthread_cancel(::pthread_self());
    launch(s_, {kBase});
    run(calls::MemcpyDtoDAsync{kBase, kBase + kGranule, 16, s_});
    run(calls::MemsetD8{kBase, 0, 16});
    run(calls::StreamSynchronize{s_});
    run(calls::StreamDestroy{s_});
    run(calls::MemUnmap{kBase, kSize});
    returned = true;
    ::pthread_testcancel();
    returned = false;
  }).join();
  answers.cancels = false;
  EXPECT_TRUE(returned);
}

// The exception is the question for the current context: to block cancellation would cost each
// launch to a default stream time, and a driver that looks for a cancellation there looks in the
// launch, too. The thread ends as it would in the launch, and nothing of the call is left in the
// session.
TEST_F(WorkStreams, AThreadIsCancelledInTheQuestionForTheContextAsInALaunch) {
  map();
  launch(nullptr, {kBase});
  answers.cancels = true;
  bool returned = false, left = true;
  std::thread([&] {
    struct AtEnd {
      bool& left;
      ~AtEnd() { left = in_flight() != nullptr; }
    } const at_end{left};
    ::pthread_cancel(::pthread_self());
    launch(nullptr, {kBase});
    returned = true;
  }).join();
  answers.cancels = false;
  EXPECT_FALSE(returned);
  EXPECT_FALSE(left);
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  unmap();
  EXPECT_THAT(findings(), testing::Contains("cuMemUnmap-idle")) << "nobody is inside of a launch";
}

// A launch asks few questions, and blocks cancellation only for them: questions about an unknown
// function or stream, about memory of a pool that may come too early, and all questions during a
// capture.
TEST_F(WorkStreams, NoThreadIsCancelledInASeldomQuestion) {
  mode = AsyncMode::kExact;
  map();
  CUdeviceptr early = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&early, kGranule, t_}));
  busy(t_);
  answers.cancels = true;
  bool returned = false;
  std::thread([&] {
    ::pthread_cancel(::pthread_self());
    launch(s_, {early});
    run(calls::ModuleUnload{nullptr});
    launch(stream(0x77), {kBase});
    run(calls::StreamBeginCapture{t_, CU_STREAM_CAPTURE_MODE_GLOBAL});
    launch(s_, {kBase});
    returned = true;
    ::pthread_testcancel();
    returned = false;
  }).join();
  answers.cancels = false;
  EXPECT_TRUE(returned);
  EXPECT_THAT(findings(), testing::Contains("data-pool-ordered"));
}

TEST_F(WorkStreams, TheLegacyStreamIsBusyForOthersToo) {
  map();
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  map();
  launch(s_, {0});  // a blocking stream: the legacy stream may wait for its work
  launch(nullptr, {kBase});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle", "cuMemUnmap-ordered"));
}

// The legacy stream is busy with an event by now, or with work that the session did not see.
TEST_F(WorkStreams, WorkBehindWhichOtherWorkIsOverIsOver) {
  launch(s_, {0});  // cuvmm knows this stream before it knows the legacy stream
  map();
  busy(CU_STREAM_LEGACY);
  launch(s_, {0});
  EXPECT_OK(run(calls::StreamSynchronize{s_}));
  launch(nullptr, {kBase});
  launch(s_, {kBase});
  run(calls::EventRecord{e_, nullptr});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkStreams, WorkBehindWhichOtherWorkIsOverIsUnorderedAllTheSame) {
  unordered = true;
  map();
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  launch(s_, {kBase});
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

// On an H100's driver (580.159.04) such a stream is idle at once.
TEST_F(WorkStreams, AWaitForABlockingStreamWithAnEventAloneIsNoneForTheLegacyStream) {
  map();
  run(calls::EventRecord{e_, s_});
  EXPECT_OK(run(calls::CtxSynchronize{}));
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  run(calls::StreamWaitEvent{s_, e_, 0});
  run(calls::EventRecord{e_, s_});
  EXPECT_OK(run(calls::StreamSynchronize{s_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkStreams, AWaitForABlockingStreamWithWorkIsOneForTheLegacyStream) {
  map();
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  run(calls::EventRecord{e_, s_});
  launch(s_, {0});
  EXPECT_OK(run(calls::StreamSynchronize{s_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkStreams, AWaitForABlockingStreamsEventIsOneForTheLegacyStream) {
  map();
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  run(calls::EventRecord{e_, s_});
  EXPECT_OK(run(calls::EventSynchronize{e_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkStreams, AWaitForTheLegacyStreamCountsThoughNothingWasGivenToIt) {
  map();
  launch(s_, {kBase});
  EXPECT_OK(run(calls::StreamSynchronize{nullptr}));
  busy(s_);
  launch(s_, {0});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkStreams, ADefaultStreamOfAnotherContextIsNotAsked) {
  map();
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  answers.context = reinterpret_cast<CUcontext>(std::uintptr_t{0xc1});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

TEST_F(WorkStreams, PerThreadNamesMeanTheThreadsOwnStream) {
  map();
  busy(CU_STREAM_PER_THREAD);
  std::uint64_t word = kBase;
  void* parameters[] = {&word};
  answers.layout = {{0, 8}};
  calls::LaunchKernel call{};
  call.f = function();
  call.kernelParams = parameters;
  EXPECT_OK(run_as(Symbol::k_cuLaunchKernel_ptsz, call));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

// --- Captures

TEST_F(WorkStreams, ACapturingStreamIsNeitherAskedNorNoted) {
  map();
  run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {s_};
  busy(s_);
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
  EXPECT_EQ(asked("flags"), 0u) << "that alone would end the capture";
}

TEST_F(WorkStreams, WhileOneCapturesOthersAreAskedInRelaxedMode) {
  map();
  run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {s_};
  busy(t_);
  launch(t_, {kBase});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_GT(answers.modes_changed, 0u);
  EXPECT_EQ(answers.mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "as it was";
}

TEST_F(WorkStreams, AStreamThatBeganToCaptureIsNotAskedAboutItsOldWork) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {s_};
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

// --- Exact

class ExactWork : public WorkWorld {
 protected:
  ExactWork() { mode = AsyncMode::kExact; }
};

TEST_F(ExactWork, TheEventBehindTheWorkIsAskedNotTheStream) {
  map();
  busy(s_);
  launch(s_, {kBase});
  launch(s_, {0});
  ASSERT_EQ(answers.event_streams.size(), 1u) << "behind what uses memory that matters";
  unmap();
  EXPECT_THAT(findings(), IsEmpty()) << "the stream is busy with what came later";
}

TEST_F(ExactWork, WorkThatIsNotOverIsCertainWhateverCameLater) {
  map();
  launch(s_, {kBase});
  launch(s_, {0});
  ASSERT_EQ(answers.event_streams.size(), 1u);
  answers.event_queries[answers.event_streams.begin()->first] = CUDA_ERROR_NOT_READY;
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(ExactWork, EventsAreUsedAgain) {
  map();
  for (int i = 0; i < 8; ++i) {
    launch(s_, {kBase});
    run(calls::StreamSynchronize{s_});
  }
  EXPECT_EQ(asked("create"), 1u);
  EXPECT_EQ(asked("record"), 8u);
}

TEST_F(ExactWork, ALaunchThatNeedsNoEventLeavesItToTheNext) {
  map();
  launch(s_, {kBase});
  run(calls::StreamSynchronize{s_});
  launch(s_, {0});
  answers.launch = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  launch(s_, {kBase});
  answers.launch = CUDA_SUCCESS;
  EXPECT_EQ(asked("record"), 1u) << "nothing was queued that uses memory";
  launch(s_, {kBase});
  EXPECT_EQ(asked("record"), 2u);
  EXPECT_EQ(asked("create"), 1u);
}

TEST_F(ExactWork, TheEventOfADefaultStreamIsRecordedThere) {
  map();
  for (int i = 0; i < 2; ++i) {
    launch(nullptr, {kBase});
    run(calls::StreamSynchronize{nullptr});
    ASSERT_EQ(answers.event_streams.size(), 1u);
    EXPECT_EQ(answers.event_streams.begin()->second, CU_STREAM_LEGACY) << i;
    answers.event_streams.begin()->second = nullptr;
  }
  EXPECT_EQ(asked("create"), 1u);
}

}  // namespace
}  // namespace cuvmm::shim
