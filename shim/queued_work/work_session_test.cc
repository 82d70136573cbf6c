// SPDX-License-Identifier: Apache-2.0
// Memory that a call takes away under work: the cases with a finding, and the cases without.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using WorkSession = WorkWorld;

TEST_F(WorkSession, AnUnmapUnderARunningKernelIsFoundWithTheKernel) {
  map();
  busy(s_);
  EXPECT_OK(launch(s_, {kBase + 64, 7}));
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  const Finding& finding = sink.all[0];
  EXPECT_EQ(finding.kind(), RuleKind::kUndefined);
  EXPECT_THAT(finding.violation.message, HasSubstr("the kernel fill(float*, int*) on stream 0x51"));
  ASSERT_FALSE(finding.violation.objects.empty());
  const ObjectRef& use = finding.violation.objects[0];
  EXPECT_EQ(use.kind, ObjectRef::Kind::kWork);
  ASSERT_TRUE(use.work);
  EXPECT_STREQ(use.work->what, "kernel");
  EXPECT_EQ(use.work->function, "fill(float*, int*)");
  EXPECT_EQ(use.work->stream, 0x51u);
  EXPECT_EQ(use.value, kBase + 64);
  EXPECT_NE(use.made.call, 0u);
  EXPECT_NE(use.made.stack, 0u);
  EXPECT_LT(use.made.call, finding.call_index);
}

TEST_F(WorkSession, NothingIsFoundOnceTheHostHasWaited) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_OK(run(calls::StreamSynchronize{s_}));
  unmap();  // the driver says that the stream is busy, with work that was queued elsewhere
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u) << "nobody has to be asked";
}

TEST_F(WorkSession, NothingIsFoundOfWorkThatIsOver) {
  map();
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 1u);
  EXPECT_EQ(session().work().counts().unawaited, 1u) << "but it is counted";
}

TEST_F(WorkSession, ACopyThatMayHaveWaitedForItselfWasNoLuck) {
  map();
  run(calls::MemsetD8Async{kBase, 0, 64, nullptr});
  unmap();
  EXPECT_EQ(session().work().counts().unawaited, 0u);
  map();
  run(calls::MemsetD8Async{kBase, 0, 64, s_});
  unmap();
  EXPECT_EQ(session().work().counts().unawaited, 1u);
}

// Between two reservations, while work is noted: the fill uses no memory that cuvmm follows.
TEST_F(WorkSession, AFillOfADevicesPlainMemoryIsNoUseAndAsksNobody) {
  constexpr CUdeviceptr kLower = 0x1'0000'0000;
  CUdeviceptr plain = 0;
  EXPECT_OK(run(calls::MemAlloc{&plain, kGranule}));
  map(kLower);
  map();
  ASSERT_GT(plain, kLower);
  busy(s_);
  launch(s_, {kBase});
  const std::uint64_t numbers = session().last_number();
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(run(calls::MemsetD8Async{plain, 0, 64, t_}));
  }
  EXPECT_EQ(session().last_number(), numbers);
  EXPECT_EQ(asked("place"), 0u);
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

// The host may poll the bytes that a fill of its memory writes. The address was a device's before.
TEST_F(WorkSession, MemoryOfTheHostIsKnownAtTheAddressOfADevicesMemory) {
  map();
  busy(s_);
  launch(s_, {kBase});
  CUdeviceptr plain = 0;
  EXPECT_OK(run(calls::MemAlloc{&plain, kGranule}));
  EXPECT_OK(run(calls::MemsetD8Async{plain, 0, 64, t_}));
  EXPECT_OK(run(calls::MemFree{plain}));
  answers.plain_memory = plain;
  void* host = nullptr;
  EXPECT_OK(run(calls::MemHostAlloc{&host, kGranule, 0}));
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(host), plain);
  launch(s_, {kBase});
  EXPECT_OK(run(calls::MemsetD8Async{plain, 0, 64, s_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, WorkThatHappenedToBeOverIsFoundIfAskedFor) {
  unordered = true;
  map();
  launch(s_, {kBase});
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("happens to be finished"));
}

TEST_F(WorkSession, AnUnmapOfOtherMemoryAsksNobody) {
  map();
  map(kBase + 4 * kSize);
  busy(s_);
  launch(s_, {kBase + 4 * kSize});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

TEST_F(WorkSession, LaterWorkOnTheStreamLeavesItOpenWhichIsUnfinished) {
  map();
  busy(s_);
  launch(s_, {kBase});
  launch(s_, {0});
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("may not be finished"));
}

TEST_F(WorkSession, ALaterWaitLeavesItOpenToo) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::EventRecord{e_, t_});
  run(calls::StreamWaitEvent{s_, e_, 0});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkSession, AnEventBehindTheWorkOrdersIt) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::EventRecord{e_, s_});
  launch(s_, {0});  // the stream stays busy
  EXPECT_OK(run(calls::EventSynchronize{e_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, AnEventBeforeTheWorkDoesNot) {
  map();
  busy(s_);
  run(calls::EventRecord{e_, s_});
  launch(s_, {kBase});
  EXPECT_OK(run(calls::EventSynchronize{e_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkSession, AQueryThatSaysSoIsAsGoodAsAWait) {
  map();
  launch(s_, {kBase});
  EXPECT_OK(run(calls::StreamQuery{s_}));
  busy(s_);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, AQueryThatSaysNotReadyIsNot) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_EQ(run(calls::StreamQuery{s_}), CUDA_ERROR_NOT_READY);
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkSession, TheContextsSynchronisationOrdersAllStreams) {
  map();
  busy(s_);
  busy(t_);
  launch(s_, {kBase});
  launch(t_, {kBase});
  EXPECT_OK(run(calls::CtxSynchronize{}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, WhatAStreamWaitedForIsOverWithIt) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::EventRecord{e_, s_});
  run(calls::StreamWaitEvent{t_, e_, 0});
  EXPECT_OK(run(calls::StreamSynchronize{t_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, AnErrorOfTheStreamSaysNothing) {
  map();
  answers.queries[s_] = CUDA_ERROR_ILLEGAL_ADDRESS;
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, ARefusedLaunchUsesNothing) {
  map();
  busy(s_);
  answers.launch = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(launch(s_, {kBase}), CUDA_ERROR_INVALID_VALUE);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, ARefusedUnmapTakesNothingAway) {
  map();
  busy(s_);
  launch(s_, {kBase});
  answers.unmap = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(run(calls::MemUnmap{kBase, kSize}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, PointersInPackedBuffersAreSeenAndWordsOfStructsAreNot) {
  map();
  busy(s_);
  struct {
    std::uint32_t count = 3;
    std::uint32_t pad = 0;
    std::uint64_t inside = 0;
  } packed;
  packed.inside = kBase + 8;
  answers.layout = {{0, 4}, {8, 16}, {24, 8}};
  unsigned char buffer[32] = {};
  std::memcpy(buffer + 8, &packed, sizeof packed);
  const auto launch_with = [&](std::uint64_t pointer) {
    std::memcpy(buffer + 24, &pointer, sizeof pointer);
    std::size_t size = sizeof buffer;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    calls::LaunchKernel call{};
    call.f = function();
    call.hStream = s_;
    call.extra = extra;
    EXPECT_OK(run(call));
  };
  launch_with(0);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  map();
  launch_with(kBase + 8);
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkSession, AKernelThatHidesItsLayoutIsCounted) {
  map();
  answers.tells_layout = false;
  launch(s_, {kBase});
  answers.tells_layout = true;
  unmap();
  const WorkCounts counts = session().work().counts();
  EXPECT_EQ(counts.launches, 1u);
  EXPECT_EQ(counts.hidden, 1u);
  EXPECT_EQ(counts.tracked, 0u);
}

TEST_F(WorkSession, TheLayoutIsAskedOnceUntilCodeIsUnloaded) {
  map();
  launch(s_, {kBase});
  launch(s_, {kBase});
  EXPECT_EQ(asked("parameter"), 2u) << "one parameter, and that there is no other";
  run(calls::ModuleUnload{nullptr});
  launch(s_, {kBase});
  EXPECT_EQ(asked("parameter"), 4u);
}

TEST_F(WorkSession, CopiesAndFillsUseTheirBytes) {
  map();
  busy(s_);
  EXPECT_OK(run(calls::MemsetD8Async{kBase, 1, 16, s_}));
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_STREQ(sink.all[0].violation.objects[0].work->what, "fill");
  EXPECT_EQ(sink.all[0].violation.objects[0].size, 16u);
}

TEST_F(WorkSession, ABlockingCopyWaitsForItsStream) {
  map();
  busy(s_);
  launch(nullptr, {kBase});
  char byte = 0;
  EXPECT_OK(run(calls::MemcpyDtoH{&byte, kBase, 1}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkSession, WithoutMappedMemoryNobodyIsAsked) {
  launch(s_, {kBase});
  run(calls::EventRecord{e_, s_});
  EXPECT_THAT(answers.asked, IsEmpty());
}

TEST_F(WorkSession, SwitchedOffNobodyIsAsked) {
  mode = AsyncMode::kOff;
  map();
  busy(s_);
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_THAT(answers.asked, IsEmpty());
}

}  // namespace
}  // namespace cuvmm::shim
