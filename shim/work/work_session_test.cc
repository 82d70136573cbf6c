// SPDX-License-Identifier: Apache-2.0
// Memory that is taken away under work: what is found, and what is not.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WorkSession : public WorkWorld {
 protected:
  const CUstream s_ = stream(0x51), t_ = stream(0x52);
  const CUevent e_ = event(0xe1);
};

TEST_F(WorkSession, AnUnmapUnderARunningKernelIsFoundWithTheKernel) {
  map();
  busy(s_);
  EXPECT_EQ(launch(s_, {kBase + 64, 7}), CUDA_SUCCESS);
  unmap();
  ASSERT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
  const Finding& finding = sink.all[0];
  EXPECT_EQ(finding.kind(), RuleKind::kError);
  EXPECT_THAT(finding.violation.message, HasSubstr("the kernel fill(float*, int) on stream 0x51"));
  ASSERT_FALSE(finding.violation.objects.empty());
  const ObjectRef& use = finding.violation.objects[0];
  EXPECT_EQ(use.kind, ObjectRef::Kind::kWork);
  ASSERT_TRUE(use.work);
  EXPECT_STREQ(use.work->what, "kernel");
  EXPECT_EQ(use.work->function, "fill(float*, int)");
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
  EXPECT_EQ(run(calls::StreamSynchronize{s_}), CUDA_SUCCESS);
  unmap();  // busy with what was queued elsewhere, says the driver
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u) << "nobody has to be asked";
}

TEST_F(WorkSession, NothingIsFoundOfWorkThatIsOver) {
  map();
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 1u);
}

TEST_F(WorkSession, WorkThatHappenedToBeOverIsFoundIfAskedFor) {
  unordered = true;
  map();
  launch(s_, {kBase});
  unmap();
  ASSERT_THAT(found(), ElementsAre("cuMemUnmap-ordered"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("happens to be finished"));
}

TEST_F(WorkSession, AnUnmapOfOtherMemoryAsksNobody) {
  map();
  map(kBase + 4 * kSize);
  busy(s_);
  launch(s_, {kBase + 4 * kSize});
  unmap();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

TEST_F(WorkSession, LaterWorkOnTheStreamLeavesItOpenWhichIsUnfinished) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_EQ(run(calls::LaunchHostFunc{s_, nullptr, nullptr}), CUDA_SUCCESS);
  unmap();
  ASSERT_THAT(found(), ElementsAre("cuMemUnmap-ordered"));
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("may not be finished"));
}

TEST_F(WorkSession, ALaterWaitLeavesItOpenToo) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::EventRecord{e_, t_});
  run(calls::StreamWaitEvent{s_, e_, 0});
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkSession, AnEventBehindTheWorkOrdersIt) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::EventRecord{e_, s_});
  launch(s_, {0});  // the stream stays busy
  EXPECT_EQ(run(calls::EventSynchronize{e_}), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, AnEventBeforeTheWorkDoesNot) {
  map();
  busy(s_);
  run(calls::EventRecord{e_, s_});
  launch(s_, {kBase});
  EXPECT_EQ(run(calls::EventSynchronize{e_}), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkSession, AQueryThatSaysSoIsAsGoodAsAWait) {
  map();
  launch(s_, {kBase});
  EXPECT_EQ(run(calls::StreamQuery{s_}), CUDA_SUCCESS);
  busy(s_);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, AQueryThatSaysNotReadyIsNot) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_EQ(run(calls::StreamQuery{s_}), CUDA_ERROR_NOT_READY);
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkSession, TheContextsSynchronisationOrdersAllStreams) {
  map();
  busy(s_);
  busy(t_);
  launch(s_, {kBase});
  launch(t_, {kBase});
  EXPECT_EQ(run(calls::CtxSynchronize{}), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, WhatAStreamWaitedForIsOverWithIt) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::EventRecord{e_, s_});
  run(calls::StreamWaitEvent{t_, e_, 0});
  EXPECT_EQ(run(calls::StreamSynchronize{t_}), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, AnErrorOfTheStreamSaysNothing) {
  map();
  answers.queries[s_] = CUDA_ERROR_ILLEGAL_ADDRESS;
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, ARefusedLaunchUsesNothing) {
  map();
  busy(s_);
  answers.launch = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(launch(s_, {kBase}), CUDA_ERROR_INVALID_VALUE);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, ARefusedUnmapTakesNothingAway) {
  map();
  busy(s_);
  launch(s_, {kBase});
  answers.unmap = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(run(calls::MemUnmap{kBase, kSize}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, PointersInsideOfStructsAndPackedBuffersAreSeen) {
  map();
  busy(s_);
  struct {
    std::uint32_t count = 3;
    std::uint32_t pad = 0;
    std::uint64_t inside = 0;
  } packed;
  packed.inside = kBase + 8;
  answers.layout = {{0, 4}, {8, 16}};
  unsigned char buffer[24] = {};
  std::memcpy(buffer + 8, &packed, sizeof packed);
  std::size_t size = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  calls::LaunchKernel call{};
  call.f = function();
  call.hStream = s_;
  call.extra = extra;
  EXPECT_EQ(run(call), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
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
  EXPECT_EQ(run(calls::MemsetD8Async{kBase, 1, 16, s_}), CUDA_SUCCESS);
  unmap();
  ASSERT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_STREQ(sink.all[0].violation.objects[0].work->what, "fill");
  EXPECT_EQ(sink.all[0].violation.objects[0].size, 16u);
}

TEST_F(WorkSession, ABlockingCopyWaitsForItsStream) {
  map();
  busy(s_);
  launch(nullptr, {kBase});
  char byte = 0;
  EXPECT_EQ(run(calls::MemcpyDtoH{&byte, kBase, 1}), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
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
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(answers.asked, IsEmpty());
}

// --- Streams

TEST_F(WorkSession, ADestroyedStreamIsNeverAsked) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_EQ(run(calls::StreamDestroy{s_}), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
  // The driver gives the handle out again.
  map();
  launch(s_, {kBase});
  EXPECT_EQ(asked("flags"), 2u) << "it is met again";
}

TEST_F(WorkSession, AStreamOfAContextThatEndedIsNeverAsked) {
  map();
  busy(s_);
  launch(s_, {kBase});
  EXPECT_EQ(run(calls::CtxDestroy{answers.context}), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

TEST_F(WorkSession, TheLegacyStreamIsBusyForOthersToo) {
  map();
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
  map();
  launch(s_, {0});  // a blocking stream, whose work may be what it waits for
  launch(nullptr, {kBase});
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle", "cuMemUnmap-ordered"));
}

TEST_F(WorkSession, ADefaultStreamOfAnotherContextIsNotAsked) {
  map();
  busy(CU_STREAM_LEGACY);
  launch(nullptr, {kBase});
  answers.context = reinterpret_cast<CUcontext>(std::uintptr_t{0xc1});
  unmap();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

TEST_F(WorkSession, PerThreadNamesMeanTheThreadsOwnStream) {
  map();
  busy(CU_STREAM_PER_THREAD);
  std::uint64_t word = kBase;
  void* parameters[] = {&word};
  answers.layout = {{0, 8}};
  calls::LaunchKernel call{};
  call.f = function();
  call.kernelParams = parameters;
  EXPECT_EQ(run_as(Symbol::k_cuLaunchKernel_ptsz, call), CUDA_SUCCESS);
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
}

// --- Captures

TEST_F(WorkSession, ACapturingStreamIsNeitherAskedNorNoted) {
  map();
  run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {s_};
  busy(s_);
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
  EXPECT_EQ(asked("flags"), 0u) << "that alone would end the capture";
}

TEST_F(WorkSession, WhileOneCapturesOthersAreAskedInRelaxedMode) {
  map();
  run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {s_};
  busy(t_);
  launch(t_, {kBase});
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_GT(answers.modes_changed, 0u);
  EXPECT_EQ(answers.mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "as it was";
}

TEST_F(WorkSession, AStreamThatBeganToCaptureIsNotAskedAboutItsOldWork) {
  map();
  busy(s_);
  launch(s_, {kBase});
  run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {s_};
  unmap();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

// --- Graphs

class WorkGraph : public WorkSession {
 protected:
  CUgraphExec instantiate(std::uint64_t word) {
    word_ = word;
    answers.layout = {{0, 8}};
    CUDA_KERNEL_NODE_PARAMS_v2 node{};
    node.func = function();
    node.kernelParams = parameters_;
    answers.kernel_nodes = {node};
    CUgraphExec exec = nullptr;
    EXPECT_EQ(run(calls::GraphInstantiateWithFlags{&exec, nullptr, 0}), CUDA_SUCCESS);
    return exec;
  }
  std::uint64_t word_ = 0;
  void* parameters_[1] = {&word_};
};

TEST_F(WorkGraph, AGraphUsesWhatItsNodesUse) {
  map();
  const CUgraphExec exec = instantiate(kBase);
  word_ = 0;  // the graph has its own copy
  busy(s_);
  EXPECT_EQ(run(calls::GraphLaunch{exec, s_}), CUDA_SUCCESS);
  unmap();
  ASSERT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_STREQ(sink.all[0].violation.objects[0].work->what, "graph");
}

TEST_F(WorkGraph, AGraphThatReplaysAnAddressThatIsGoneIsFound) {
  map();
  const CUgraphExec exec = instantiate(kBase);
  EXPECT_EQ(run(calls::GraphLaunch{exec, s_}), CUDA_SUCCESS);
  EXPECT_THAT(found(), IsEmpty());
  unmap();
  EXPECT_EQ(run(calls::GraphLaunch{exec, s_}), CUDA_SUCCESS);
  EXPECT_THAT(found(), ElementsAre("launch-argument-alive"));
  run(calls::GraphExecDestroy{exec});
  EXPECT_EQ(run(calls::GraphLaunch{exec, s_}), CUDA_SUCCESS);
  EXPECT_EQ(found().size(), 1u) << "the handle may mean another graph";
}

// --- Access

TEST_F(WorkSession, TakingAccessAwayUnderAKernelIsFound) {
  map();
  busy(s_);
  launch(s_, {kBase});
  CUmemAccessDesc desc{};
  desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  run(calls::MemSetAccess{kBase, kSize, &desc, 1});
  EXPECT_THAT(found(), IsEmpty()) << "it takes nothing";
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  run(calls::MemSetAccess{kBase, kSize, &desc, 1});
  EXPECT_THAT(found(), ElementsAre("cuMemSetAccess-idle"));
  launch(s_, {kBase});
  launch(s_, {0});
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  run(calls::MemSetAccess{kBase, kSize, &desc, 1});
  EXPECT_EQ(found().back(), "cuMemSetAccess-ordered");
}

// --- Memory of pools

class PoolWork : public WorkSession {
 protected:
  void allocate(CUstream where) {
    CUdeviceptr out = 0;
    EXPECT_EQ(run(calls::MemAllocAsync{&out, kGranule, where}), CUDA_SUCCESS);
    ASSERT_EQ(out, kPool);
  }
  static constexpr CUdeviceptr kPool = 0x300000000;
};

TEST_F(PoolWork, AFreeOnAStreamThatDidNotWaitIsFound) {
  allocate(s_);
  busy(t_);
  launch(t_, {kPool + 8});
  EXPECT_EQ(run(calls::MemFreeAsync{kPool, s_}), CUDA_SUCCESS);
  ASSERT_THAT(found(), ElementsAre("cuMemFreeAsync-ordered"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
}

TEST_F(PoolWork, AFreeBehindTheWorkIsFine) {
  allocate(s_);
  busy(s_);
  busy(t_);
  launch(t_, {kPool});
  run(calls::EventRecord{e_, t_});
  run(calls::StreamWaitEvent{s_, e_, 0});
  launch(s_, {kPool});
  EXPECT_EQ(run(calls::MemFreeAsync{kPool, s_}), CUDA_SUCCESS);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(PoolWork, WorkOfBeforeTheAllocationUsedOtherMemory) {
  allocate(s_);
  busy(s_);
  launch(s_, {kPool});
  EXPECT_EQ(run(calls::MemFreeAsync{kPool, s_}), CUDA_SUCCESS);
  allocate(t_);
  EXPECT_EQ(run(calls::MemFreeAsync{kPool, t_}), CUDA_SUCCESS);
  EXPECT_THAT(found(), IsEmpty());
}

// --- What launches are given

TEST_F(WorkSession, AnArgumentWhereNothingWasMappedIsFound) {
  map();
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase + kSize, 0});
  launch(s_, {kBase + kSize + kGranule});
  EXPECT_THAT(found(), IsEmpty()) << "outside of all that was ever mapped nothing is looked at";
  map(kBase + 8 * kSize);
  launch(s_, {kBase + kSize + kGranule});
  ASSERT_THAT(found(), ElementsAre("launch-argument-mapped"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
}

TEST_F(WorkSession, TheEndOfAMappingIsNoPlaceToGo) {
  map();
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase + kSize, 0});
  map(kBase + 8 * kSize);
  launch(s_, {kBase, kBase + kSize});
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, AnArgumentThatWasUnmappedIsFoundWithWhoDidIt) {
  map();
  launch(s_, {kBase});
  run(calls::StreamSynchronize{s_});
  unmap();
  launch(s_, {kBase});
  ASSERT_THAT(found(), ElementsAre("launch-argument-alive"));
  const auto& objects = sink.all[0].violation.objects;
  ASSERT_FALSE(objects.empty());
  EXPECT_NE(objects[0].ended.call, 0u);
}

TEST_F(WorkSession, AnArgumentThatIsMappedAgainIsFine) {
  map();
  launch(s_, {kBase});
  run(calls::StreamSynchronize{s_});
  unmap();
  run(calls::MemAddressFree{kBase, kSize});
  map();
  launch(s_, {kBase});
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(WorkSession, AnArgumentWithoutAccessIsFound) {
  map(kBase, kSize, false);
  launch(nullptr, {kBase});  // the current context says which device
  EXPECT_THAT(found(), ElementsAre("launch-argument-access"));
}

TEST_F(WorkSession, WhatLiesInAStructIsNotJudged) {
  map(kBase, kSize, false);
  struct {
    std::uint64_t first = kBase, never_written = kBase + 8;
  } both;
  answers.layout = {{0, sizeof both}};
  void* parameters[] = {&both};
  calls::LaunchKernel call{};
  call.f = function();
  call.hStream = s_;
  call.kernelParams = parameters;
  run(call);
  EXPECT_THAT(found(), IsEmpty());
}

// --- Exact

class ExactWork : public WorkSession {
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
  EXPECT_THAT(found(), IsEmpty()) << "the stream is busy with what came later";
}

TEST_F(ExactWork, WorkThatIsNotOverIsCertainWhateverCameLater) {
  map();
  launch(s_, {kBase});
  launch(s_, {0});
  ASSERT_EQ(answers.event_streams.size(), 1u);
  answers.event_queries[answers.event_streams.begin()->first] = CUDA_ERROR_NOT_READY;
  unmap();
  EXPECT_THAT(found(), ElementsAre("cuMemUnmap-idle"));
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

}  // namespace
}  // namespace cuvmm::shim
