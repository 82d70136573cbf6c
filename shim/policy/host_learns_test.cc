// SPDX-License-Identifier: Apache-2.0
// Operations by which the host may learn without a call that earlier work is over: host functions,
// words, events of several processes; and operations that wait for such signals.
#include <gmock/gmock.h>

#include <thread>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorkTells : public WorkWorld {
 protected:
  // The tests read from the findings about `s_` which work the host may know to be over; `s_` stays
  // busy with later work.
  void use_then_more() {
    map();
    busy(s_);
    launch(s_, {kBase});
  }
  void more_work() { launch(s_, {0}); }
  std::uint64_t at(char* buffer) { return reinterpret_cast<std::uintptr_t>(buffer); }
  void SetUp() override { answers.places[at(pinned_)] = CU_MEMORYTYPE_HOST; }
  char pinned_[64] = {};
};

// --- Operations that tell the host

TEST_F(WorkTells, AHostFunctionMayTellThatWorkIsOver) {
  use_then_more();
  EXPECT_OK(run(calls::LaunchHostFunc{s_, nullptr, nullptr}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, WorkBehindAHostFunctionIsNotTold) {
  use_then_more();
  EXPECT_OK(run(calls::LaunchHostFunc{s_, nullptr, nullptr}));
  launch(s_, {kBase});
  more_work();
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkTells, AHostFunctionOnAStreamThatWaitedTellsToo) {
  use_then_more();
  run(calls::EventRecord{e_, s_});
  more_work();
  run(calls::StreamWaitEvent{t_, e_, 0});
  EXPECT_OK(run(calls::LaunchHostFunc{t_, nullptr, nullptr}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, WithAnEventBehindItUnfinishedWorkIsFoundAllTheSame) {
  mode = AsyncMode::kExact;
  unordered = true;
  use_then_more();
  answers.event_queries[event(0xee01)] = CUDA_ERROR_NOT_READY;
  EXPECT_OK(run(calls::LaunchHostFunc{s_, nullptr, nullptr}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkTells, ToldWorkThatIsOverIsNotSpokenOf) {
  mode = AsyncMode::kExact;
  unordered = true;
  use_then_more();
  EXPECT_OK(run(calls::LaunchHostFunc{s_, nullptr, nullptr}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

// The emulator runs the host function at once, and a GPU may.
TEST_F(WorkTells, AHostFunctionMayRunBeforeTheDriverHasAnswered) {
  use_then_more();
  more_work();
  answers.while_telling = [this] { std::thread([this] { unmap(); }).join(); };
  EXPECT_OK(run(calls::LaunchHostFunc{s_, nullptr, nullptr}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AHostFunctionThatTheDriverRefusesTellsNothing) {
  use_then_more();
  more_work();
  answers.host_function = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(run(calls::LaunchHostFunc{s_, nullptr, nullptr}), CUDA_ERROR_INVALID_VALUE);
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

// --- Kernels that write to memory of the host, and copies of flags

class WorkFlags : public WorkTells {
 protected:
  void SetUp() override {
    WorkTells::SetUp();
    answers.non_blocking = {s_, t_};
    answers.plain_memory = at(pinned_);
    void* out = nullptr;
    EXPECT_OK(run(calls::MemHostAlloc{&out, sizeof pinned_, 0}));
  }
  static constexpr CUdeviceptr kPlain = 0x400000000;
};

/// An event lies behind each use; the first event is 0xee01.
class ExactFlags : public WorkFlags {
 protected:
  ExactFlags() {
    mode = AsyncMode::kExact;
    unordered = true;
  }
};

TEST_F(WorkFlags, AKernelThatIsGivenMemoryOfTheHostMayTellOfEarlierWork) {
  use_then_more();
  launch(s_, {at(pinned_)});
  more_work();
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkFlags, AndOfItself) {
  map();
  busy(s_);
  launch(s_, {kBase, at(pinned_) + 8});
  launch(s_, {0, 0});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

// The kernel may have told the host that it has finished with its memory.
TEST_F(WorkFlags, AlsoWhileItIsUnfinishedForSure) {
  map();
  busy(s_);
  launch(s_, {kBase, at(pinned_)});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ExactFlags, AndWithAnEventBehindIt) {
  map();
  launch(s_, {kBase, at(pinned_)});
  answers.event_queries[event(0xee01)] = CUDA_ERROR_NOT_READY;
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ExactFlags, WorkBeforeItIsFoundByItsOwnEvent) {
  use_then_more();
  answers.event_queries[event(0xee01)] = CUDA_ERROR_NOT_READY;
  launch(s_, {at(pinned_)});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"))
      << "it is not over, so that nobody knows so";
}

TEST_F(WorkFlags, AKernelThatOnlyReadsTheFlagSaysNothing) {
  answers.name = "_Z4spinPjPVKj";
  map();
  busy(s_);
  launch(s_, {kBase, at(pinned_)});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkFlags, AFlagOfADeviceThatAnotherStreamCopiesMayTellOfAKernel) {
  map();
  busy(s_);
  launch(s_, {kBase, kPlain});
  answers.places[kPlain] = CU_MEMORYTYPE_DEVICE;
  std::uint32_t flag = 0;
  EXPECT_OK(run(calls::MemcpyDtoHAsync{&flag, kPlain, sizeof flag, t_}));
  EXPECT_OK(run(calls::StreamSynchronize{t_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ExactFlags, ACopyBehindTheKernelSaysNothingOfItWhileItRuns) {
  map();
  launch(s_, {kBase, kPlain});
  answers.event_queries[event(0xee01)] = CUDA_ERROR_NOT_READY;
  answers.places[kPlain] = CU_MEMORYTYPE_DEVICE;
  std::uint32_t flag = 0;
  EXPECT_OK(run(calls::MemcpyDtoHAsync{&flag, kPlain, sizeof flag, s_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkFlags, AFillSaysNothingOfItself) {
  map();
  busy(s_);
  run(calls::MemsetD8Async{kBase, 1, 64, s_});
  answers.places[kPlain] = CU_MEMORYTYPE_DEVICE;
  std::uint32_t flag = 0;
  EXPECT_OK(run(calls::MemcpyDtoHAsync{&flag, kPlain, sizeof flag, t_}));
  EXPECT_OK(run(calls::StreamSynchronize{t_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkFlags, WhoWaitedForAWordMayKnowOfAKernelThatGoesOn) {
  map();
  busy(s_);
  launch(s_, {kBase, kPlain});
  EXPECT_OK(run(calls::StreamWaitValue32{t_, kPlain, 1, 0}));
  EXPECT_OK(run(calls::StreamSynchronize{t_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkFlags, MemoryOfTheHostInAStructCounts) {
  use_then_more();
  answers.module = nullptr;
  std::uint64_t both[] = {7, at(pinned_)};
  void* parameters[] = {both};
  answers.layout = {{0, 16}};
  answers.name = "_Z5other4Both";
  const auto other = reinterpret_cast<CUfunction>(std::uintptr_t{0xf2});
  run(calls::LaunchKernel{.f = other, .hStream = s_, .kernelParams = parameters});
  more_work();
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkFlags, AKernelMayTellBeforeTheDriverHasAnswered) {
  use_then_more();
  more_work();
  answers.while_launching = [this] { std::thread([this] { unmap(); }).join(); };
  launch(s_, {at(pinned_)});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkFlags, AFewBytesThatAreCopiedToTheHostMayTellOfAnyWork) {
  use_then_more();
  more_work();
  answers.places[kPlain] = CU_MEMORYTYPE_DEVICE;
  std::uint32_t flag = 0;
  EXPECT_OK(run(calls::MemcpyDtoH{&flag, kPlain, sizeof flag}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkFlags, ManyBytesAreNoFlag) {
  use_then_more();
  more_work();
  answers.places[kPlain] = CU_MEMORYTYPE_DEVICE;
  char many[4096];
  EXPECT_OK(run(calls::MemcpyDtoH{many, kPlain, sizeof many}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkFlags, WorkBehindACopyOfAFlagIsNotTold) {
  map();
  busy(s_);
  answers.places[kPlain] = CU_MEMORYTYPE_DEVICE;
  launch(s_, {0});
  std::uint32_t flag = 0;
  EXPECT_OK(run(calls::MemcpyDtoH{&flag, kPlain, sizeof flag}));
  launch(s_, {kBase});
  more_work();
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkFlags, AnEventThatALaunchRecordsStandsForWhatIsBeforeIt) {
  map(kBase + 4 * kSize);
  use_then_more();
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  attribute.value.programmaticEvent.event = e_;
  CUlaunchConfig config{};
  config.hStream = s_;
  config.attrs = &attribute;
  config.numAttrs = 1;
  std::uint64_t word = kBase + 4 * kSize;
  void* parameters[] = {&word};
  EXPECT_OK(run(calls::LaunchKernelEx{&config, function(), parameters, nullptr}));
  EXPECT_OK(run(calls::EventSynchronize{e_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  unmap(kBase + 4 * kSize);
  EXPECT_THAT(findings(), IsEmpty()) << "the kernel goes on, and may be done with its memory";
}

TEST_F(WorkTells, AWordThatIsWrittenTells) {
  use_then_more();
  EXPECT_OK(run(calls::StreamWriteValue32{s_, at(pinned_), 1, 0}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AWordThatTheHostSeesIsOverForItAsSoonAsItIsWritten) {
  mode = AsyncMode::kExact;
  unordered = true;
  map();
  answers.places[kBase] = CU_MEMORYTYPE_HOST;
  CUmemAccessDesc host{};
  host.location.type = CU_MEM_LOCATION_TYPE_HOST;
  host.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  run(calls::MemSetAccess{kBase, kSize, &host, 1});
  busy(s_);
  EXPECT_OK(run(calls::StreamWriteValue32{s_, kBase, 1, 0}));
  EXPECT_EQ(asked("record"), 0u);
  unmap();
  EXPECT_THAT(findings(), testing::Not(testing::Contains(testing::StartsWith("cuMemUnmap"))));
}

TEST_F(WorkTells, AWordThatIsWaitedForTellsNothing) {
  use_then_more();
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = at(pinned_);
  EXPECT_OK(run(calls::StreamBatchMemOp{s_, 1, &operation, 0}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkTells, AnAllocationThatTheHostMayKnowOfIsNotEarly) {
  CUdeviceptr pool = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&pool, kGranule, s_}));
  busy(s_);
  EXPECT_OK(run(calls::LaunchHostFunc{s_, nullptr, nullptr}));
  launch(t_, {pool});
  EXPECT_THAT(findings(), IsEmpty());
}

// --- Waits for signals of others

// A kernel of any stream may write the word.
TEST_F(WorkTells, WhoWaitedForAWordMayComeAfterAllWork) {
  CUdeviceptr pool = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&pool, kGranule, s_}));
  busy(s_);
  launch(s_, {pool});
  more_work();
  EXPECT_OK(run(calls::StreamWaitValue32{t_, at(pinned_), 1, 0}));
  launch(t_, {pool});
  EXPECT_THAT(findings(), IsEmpty()) << "the allocation is over";
  launch(s_, {pool});  // unfinished for sure, which proves nothing about the order
  EXPECT_OK(run(calls::MemFreeAsync{pool, t_}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AHostThatWaitedForAWaitMayKnowOfAllWork) {
  use_then_more();
  more_work();
  EXPECT_OK(run(calls::StreamWaitValue32{t_, at(pinned_), 1, 0}));
  run(calls::EventRecord{e_, t_});
  EXPECT_OK(run(calls::EventSynchronize{e_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AWaitThatMayGoOnTellsTheHostNothing) {
  use_then_more();
  more_work();
  EXPECT_OK(run(calls::StreamWaitValue32{t_, at(pinned_), 1, 0}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

// --- Events of contexts, and elapsed times

TEST_F(WorkTells, TheTimeBetweenTwoEventsTellsThatBothAreOver) {
  use_then_more();
  run(calls::EventRecord{e_, s_});
  const CUevent later = event(0xe2);
  launch(t_, {kBase});
  run(calls::EventRecord{later, t_});
  busy(t_);
  more_work();
  float milliseconds = 0;
  EXPECT_OK(run(calls::EventElapsedTime{&milliseconds, e_, later}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AnEventOfAContextStandsForAllOfItsWork) {
  use_then_more();
  EXPECT_OK(run(calls::CtxRecordEvent{answers.context, e_}));
  more_work();
  EXPECT_OK(run(calls::EventSynchronize{e_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AnEventOfAGreenContextMayStandForAllWork) {
  use_then_more();
  EXPECT_OK(run(calls::GreenCtxRecordEvent{nullptr, e_}));
  more_work();
  EXPECT_OK(run(calls::EventSynchronize{e_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AContextMayWaitForAnEvent) {
  answers.non_blocking = {s_, t_};
  CUdeviceptr pool = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&pool, kGranule, s_}));
  busy(s_);
  launch(s_, {pool});
  run(calls::EventRecord{e_, s_});
  EXPECT_OK(run(calls::CtxWaitEvent{answers.context, e_}));
  launch(t_, {pool});  // a new stream
  EXPECT_OK(run(calls::MemFreeAsync{pool, t_}));
  EXPECT_THAT(findings(), IsEmpty());
}

// --- Events that other processes know

TEST_F(WorkTells, AnEventOfSeveralProcessesMayTell) {
  use_then_more();
  CUipcEventHandle handle{};
  EXPECT_OK(run(calls::IpcGetEventHandle{&handle, e_}));
  run(calls::EventRecord{e_, s_});
  more_work();
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, WhoWaitsForAnEventOfSeveralProcessesMayComeAfterAllWork) {
  CUdeviceptr pool = 0;
  CUipcEventHandle handle{};
  EXPECT_OK(run(calls::IpcGetEventHandle{&handle, e_}));
  EXPECT_OK(run(calls::MemAllocAsync{&pool, kGranule, s_}));
  busy(s_);
  launch(s_, {pool});
  run(calls::StreamWaitEvent{t_, e_, 0});
  EXPECT_OK(run(calls::MemFreeAsync{pool, t_}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTells, AnotherEventOfThatNameTellsNothing) {
  use_then_more();
  CUipcEventHandle handle{};
  EXPECT_OK(run(calls::IpcGetEventHandle{&handle, e_}));
  run(calls::EventDestroy{e_});
  run(calls::EventRecord{e_, s_});
  more_work();
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

}  // namespace
}  // namespace cuvmm::shim
