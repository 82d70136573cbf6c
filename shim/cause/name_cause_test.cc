// SPDX-License-Identifier: Apache-2.0
// Refusals that an earlier call caused: the finding names that call.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/driver/mock_driver.h"
#include "shim/objects/object_table.h"
#include "shim/testing/mock_values.h"
#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::NiceMock;
using testing::Not;
using testing::Return;

class Refusing : public Findings {
 public:
  bool fold_refusal(EntryPoint, CUresult, bool, StackId, Refusal::Purpose) override {
    return false;
  }
  void take_refusal(const Refusal& refusal) override { refusals.push_back(refusal); }
  std::vector<Refusal> refusals;
};

class NameCause : public testing::Test {
 protected:
  NameCause() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(1));
    ON_CALL(mock_, CtxGetCurrent(_))
        .WillByDefault(answers(reinterpret_cast<CUcontext>(std::uintptr_t{0x10})));
  }
  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    return session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    EXPECT_OK(run(calls::StreamBeginCapture{s_, mode}));
  }
  void reserve(CUdeviceptr gets, CUdeviceptr hint = 0) {
    EXPECT_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillOnce(answers(gets));
    CUdeviceptr ptr = 0;
    EXPECT_OK(run(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule, .addr = hint}));
  }
  CUresult map(CUdeviceptr at, CUresult answer = CUDA_SUCCESS) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    EXPECT_CALL(mock_, MemCreate(_, _, _, _)).WillOnce(answers(++handles_));
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(run(calls::MemCreate{&handle, kGranule, &prop, 0}));
    EXPECT_CALL(mock_, MemMap(_, _, _, _, _)).WillOnce(Return(answer));
    return run(calls::MemMap{.ptr = at, .size = kGranule, .handle = handle});
  }

  static constexpr CUdeviceptr kThere = 0x700000000000, kElsewhere = 0x710000000000;
  const CUstream s_ = reinterpret_cast<CUstream>(std::uintptr_t{0x51});
  CUmemGenericAllocationHandle handles_ = 0xe00;
  NiceMock<MockDriver> mock_;
  Refusing findings_;
  Session session_{mock_.driver(), {.enforce = false, .emulated = true}, findings_};
};

TEST_F(NameCause, TheCallThatEndsACaptureIsNamedAndItsEchoesAreNot) {
  begin();
  EXPECT_CALL(mock_, MemFree(_)).WillOnce(Return(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  run(calls::MemFree{0x1000});
  ASSERT_THAT(findings_.rules(), ElementsAre("stream-capture-mode"));
  const Violation& v = findings_.all[0].violation;
  EXPECT_THAT(v.message, HasSubstr("stream 0x51 captures in global mode since call 1"));
  ASSERT_EQ(v.objects.size(), 1u);
  EXPECT_EQ(v.objects[0].made.call, 1u);
  EXPECT_CALL(mock_, MemHostRegister(_, _, _))
      .WillOnce(Return(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
  static char memory[64];
  run(calls::MemHostRegister{memory, sizeof memory, 0});
  EXPECT_EQ(findings_.all.size(), 1u);
  EXPECT_THAT(findings_.refusals, IsEmpty()) << "the finding has said it";
}

TEST_F(NameCause, AWaitForACapturingStreamIsNamed) {
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_CALL(mock_, StreamSynchronize(_)).WillOnce(Return(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  run(calls::StreamSynchronize{s_});
  ASSERT_THAT(findings_.rules(), ElementsAre("stream-capture-wait"));
  EXPECT_THAT(findings_.all[0].violation.message, HasSubstr("thread-local mode"));
  EXPECT_THAT(fix_of(findings_.all[0].violation), Not(HasSubstr("relaxed")));
}

TEST_F(NameCause, ACopyOnTheLegacyStreamIsNamed) {
  begin();
  EXPECT_CALL(mock_, MemsetD8(_, _, _)).WillOnce(Return(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
  run(calls::MemsetD8{0x1000, 0, 16});
  EXPECT_THAT(findings_.rules(), ElementsAre("stream-capture-legacy"));
}

TEST_F(NameCause, TheLegacyStreamCannotCaptureWhateverElseDoes) {
  EXPECT_CALL(mock_, StreamBeginCapture(_, _))
      .WillRepeatedly(Return(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  run(calls::StreamBeginCapture{nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL});
  EXPECT_THAT(findings_.rules(), ElementsAre("stream-capture-default"));
}

TEST_F(NameCause, ACapturedFillMayBeMappedBeforeItsGraphIsInstantiated) {
  reserve(kThere);
  run(calls::MemsetD8Async{kThere, 0, 16, s_});
  EXPECT_THAT(findings_.rules(), ElementsAre("data-mapped")) << "nothing captures";
  begin();
  run(calls::MemsetD8Async{kThere, 0, 16, s_});
  EXPECT_EQ(findings_.all.size(), 1u);
  run(calls::MemcpyDtoDAsync{kThere, kThere + 64, 16, s_});
  EXPECT_GT(findings_.all.size(), 1u) << "a driver looks at the memory of a captured copy";
}

TEST_F(NameCause, ACaptureThatHasEndedForbidsNothing) {
  begin();
  CUgraph graph = nullptr;
  run(calls::StreamEndCapture{s_, &graph});
  EXPECT_CALL(mock_, MemFree(_)).WillOnce(Return(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  run(calls::MemFree{0x1000});
  ASSERT_THAT(findings_.rules(), ElementsAre("stream-capture-mode"));
  EXPECT_THAT(findings_.all[0].violation.message, HasSubstr("that cuvmm did not see"));
}

TEST_F(NameCause, CallsThatGoWellInACaptureAreRight) {
  begin();
  run(calls::MemFree{0x1000});
  run(calls::StreamSynchronize{s_});
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(NameCause, AnEchoAloneIsARefusal) {
  static char memory[64];
  EXPECT_CALL(mock_, MemHostRegister(_, _, _))
      .WillOnce(Return(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
  run(calls::MemHostRegister{memory, sizeof memory, 0});
  EXPECT_EQ(findings_.refusals.size(), 1u);
}

TEST_F(NameCause, WhoMappedAtAHintThatWasNotMetIsNamed) {
  reserve(kThere);
  reserve(kElsewhere, kThere);  // call 2
  EXPECT_OK(map(kThere));       // calls 3 and 4 map into the other reservation
  map(kThere, CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), ElementsAre("cuMemMap-vacant"));
  const Violation& v = findings_.all[0].violation;
  EXPECT_THAT(v.message, AllOf(HasSubstr("which call 4 made at an address that call 2 had asked"),
                               HasSubstr("0x710000000000")));
  EXPECT_EQ(v.objects.back().made.call, 2u);
}

TEST_F(NameCause, AHintWhoseReservationIsMappedOrThatWasForAnotherAddressHasNoPartInIt) {
  reserve(kThere);
  reserve(kElsewhere, kThere);
  reserve(kElsewhere + kGranule, kThere - kGranule);
  EXPECT_OK(map(kThere));
  EXPECT_OK(map(kElsewhere));
  map(kThere, CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), ElementsAre("cuMemMap-vacant"));
  EXPECT_THAT(findings_.all[0].violation.message, Not(HasSubstr("hint")));
  EXPECT_EQ(fix_of(findings_.all[0].violation), info(Rule::kMapVacant).fix);
}

TEST_F(NameCause, AHintIsOneOfTwoRepairs) {
  reserve(kThere);
  reserve(kElsewhere, kThere);
  EXPECT_OK(map(kThere));
  map(kThere, CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(findings_.all.size(), 1u);
  EXPECT_THAT(fix_of(findings_.all[0].violation),
              AllOf(HasSubstr("If one of the two calls means the reservation of call 2"),
                    HasSubstr("Otherwise first cuMemUnmap")));
}

TEST_F(NameCause, AHintThatCameLaterOrWasMetHasNoPartInIt) {
  reserve(kThere, kThere);
  EXPECT_OK(map(kThere));
  reserve(kElsewhere, kThere);
  map(kThere, CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), ElementsAre("cuMemMap-vacant"));
  EXPECT_THAT(findings_.all[0].violation.message, Not(HasSubstr("hint")));
}

TEST_F(NameCause, AChildOfAProcessThatUsedTheDriverIsToldSo) {
  ASSERT_TRUE(session_.lock_for_fork());
  session_.unlock_after_fork();
  session_.start_in_child(true);
  EXPECT_CALL(mock_, MemAlloc(_, _)).WillRepeatedly(Return(CUDA_ERROR_NOT_INITIALIZED));
  CUdeviceptr ptr = 0;
  run(calls::MemAlloc{&ptr, 16});
  ASSERT_THAT(findings_.rules(), ElementsAre("driver-initialized"));
  EXPECT_THAT(findings_.all[0].violation.message, HasSubstr("was forked from process "));
}

TEST_F(NameCause, AChildThatWasForkedBeforeCuInitMayCallIt) {
  EXPECT_CALL(mock_, DeviceGetCount(_)).WillRepeatedly(Return(CUDA_ERROR_NOT_INITIALIZED));
  ASSERT_TRUE(session_.lock_for_fork());
  session_.unlock_after_fork();
  session_.start_in_child(true);
  EXPECT_CALL(mock_, MemAlloc(_, _)).WillRepeatedly(Return(CUDA_ERROR_NOT_INITIALIZED));
  CUdeviceptr ptr = 0;
  run(calls::MemAlloc{&ptr, 16});
  ASSERT_THAT(findings_.rules(), ElementsAre("driver-initialized"));
  EXPECT_THAT(findings_.all[0].violation.message, HasSubstr("cuInit has not succeeded"));
}

TEST_F(NameCause, AHandleThatEndedWithItsContextIsSaidToMayHave) {
  EXPECT_CALL(mock_, StreamDestroy(_)).WillRepeatedly(Return(CUDA_ERROR_INVALID_HANDLE));
  run(calls::StreamDestroy{s_});
  const auto ended = [&](std::size_t refusal) {
    return std::ranges::count_if(findings_.refusals[refusal].asides, [](const auto& aside) {
      return aside.text.find("call 2 (cuDevicePrimaryCtxReset) ended a context") !=
             std::string::npos;
    });
  };
  ASSERT_EQ(findings_.refusals.size(), 1u);
  EXPECT_EQ(ended(0), 0);
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  run(calls::StreamDestroy{s_});
  ASSERT_EQ(findings_.refusals.size(), 2u);
  EXPECT_EQ(ended(1), 1);
}

// As cudaDeviceReset does, which gives the context up by two calls.
TEST_F(NameCause, TheCallThatEndedAContextIsNamedThoughAnotherOneEndedLater) {
  EXPECT_CALL(mock_, MemAlloc(_, _)).WillRepeatedly(answers(kThere));
  EXPECT_CALL(mock_, MemFree(_)).WillRepeatedly(Return(CUDA_ERROR_INVALID_VALUE));
  CUdeviceptr ptr = 0;
  EXPECT_OK(run(calls::MemAlloc{&ptr, 16}));
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  run(calls::MemFree{ptr});
  ASSERT_THAT(findings_.rules(), ElementsAre("memory-free-once"));
  EXPECT_THAT(findings_.all[0].violation.message,
              HasSubstr("call 2 (cuDevicePrimaryCtxReset) ended its context"));
}

TEST_F(NameCause, MemoryThatTheProgramFreedDidNotEndWithAContext) {
  EXPECT_CALL(mock_, MemAlloc(_, _)).WillRepeatedly(answers(kThere));
  CUdeviceptr ptr = 0;
  EXPECT_OK(run(calls::MemAlloc{&ptr, 16}));
  EXPECT_OK(run(calls::MemFree{ptr}));
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  EXPECT_CALL(mock_, MemFree(_)).WillRepeatedly(Return(CUDA_ERROR_INVALID_VALUE));
  run(calls::MemFree{ptr});
  ASSERT_THAT(findings_.rules(), ElementsAre("memory-free-once"));
  EXPECT_THAT(findings_.all[0].violation.message, Not(HasSubstr("ended its context")));
}

TEST_F(NameCause, DevicesThatAreNotThereMayBeHidden) {
  EXPECT_CALL(mock_, MemAlloc(_, _)).WillRepeatedly(Return(CUDA_ERROR_INVALID_DEVICE));
  EXPECT_CALL(mock_, DeviceGetDefaultMemPool(_, _))
      .WillRepeatedly(Return(CUDA_ERROR_INVALID_DEVICE));
  CUdeviceptr ptr = 0;
  CUmemoryPool pool = nullptr;
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  run(calls::MemAlloc{&ptr, 16});
  run(calls::DeviceGetDefaultMemPool{&pool, 3});
  ::setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  run(calls::MemAlloc{&ptr, 16});
  run(calls::DeviceGetDefaultMemPool{&pool, 3});
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_EQ(findings_.all.size(), 2u);
  EXPECT_THAT(findings_.all[0].violation.message, Not(HasSubstr("CUDA_VISIBLE_DEVICES")));
  EXPECT_THAT(findings_.all[1].violation.message, HasSubstr("CUDA_VISIBLE_DEVICES is \"0,1\""));
  ASSERT_EQ(findings_.refusals.size(), 2u);
  EXPECT_TRUE(findings_.refusals[0].asides.empty());
  ASSERT_EQ(findings_.refusals[1].asides.size(), 1u);
  EXPECT_THAT(findings_.refusals[1].asides[0].text, HasSubstr("CUDA_VISIBLE_DEVICES is \"0,1\""));
}

TEST_F(NameCause, DescriptorsThatAreUsedUpAreSaid) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_CALL(mock_, MemGetHandleForAddressRange(_, _, _, _, _))
      .WillRepeatedly([](void* handle, auto...) {
        *static_cast<int*>(handle) = ::dup(0);
        return *static_cast<int*>(handle) < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
      });
  const auto dma_buf = [&](int& fd) {
    return run(calls::MemGetHandleForAddressRange{&fd, kThere, kGranule,
                                                  CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0});
  };
  std::vector<int> made;
  rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int fd = -1; dma_buf(fd) == CUDA_SUCCESS;) made.push_back(fd);
  ::setrlimit(RLIMIT_NOFILE, &before);
  for (const int fd : made) ::close(fd);
  ASSERT_FALSE(findings_.refusals.empty());
  ASSERT_EQ(findings_.refusals.back().asides.size(), 1u);
  EXPECT_THAT(findings_.refusals.back().asides[0].text,
              AllOf(HasSubstr("64 of 64 descriptors are open"),
                    HasSubstr(std::to_string(made.size()) + " of them are dma-bufs")));
}

// shim/intercept/follow.h records that objects have ended; this test does so in its place.
TEST_F(NameCause, AWaitForADestroyedStreamIsNamed) {
  const auto other = reinterpret_cast<CUstream>(std::uintptr_t{0x52});
  const auto handle = reinterpret_cast<std::uintptr_t>(s_);
  const auto kind = PlainObject::Kind::kStream;
  EXPECT_CALL(mock_, StreamSynchronize(_)).WillRepeatedly(Return(CUDA_ERROR_INVALID_HANDLE));
  run(calls::StreamSynchronize{s_});
  EXPECT_THAT(findings_.rules(), IsEmpty()) << "nobody has seen its end";
  object_table().take(kind, handle);
  object_table().ended(kind, handle, 0, {.call = 1});
  run(calls::StreamSynchronize{other});
  EXPECT_THAT(findings_.rules(), IsEmpty());
  run(calls::StreamSynchronize{s_});
  ASSERT_THAT(findings_.rules(), ElementsAre("stream-alive"));
  EXPECT_NE(findings_.all[0].violation.objects[0].ended.call, 0u);
  EXPECT_CALL(mock_, StreamSynchronize(_)).WillRepeatedly(Return(CUDA_SUCCESS));
  run(calls::StreamSynchronize{s_});
  EXPECT_EQ(findings_.all.size(), 1u) << "the handle was given out again, unseen";
  object_table().clear(true);
}

// --- Memory of graphs

class NameNodeMemory : public WorkWorld {
 protected:
  void SetUp() override {
    answers.nodes[1] = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, {kMemory, kGranule}};
    answers.nodes[2] = {CU_GRAPH_NODE_TYPE_MEM_FREE, {kMemory, 0}};
    answers.graphs[graph_] = {{1}, {}};
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_OK(run(calls::GraphInstantiateWithFlags{&exec, graph_, 0}));
    return exec;
  }
  void launch(CUgraphExec exec, CUresult answer = CUDA_SUCCESS) {
    answers.graph_launch = answer;
    EXPECT_EQ(run(calls::GraphLaunch{exec, s_}), answer);
  }
  static constexpr CUdeviceptr kMemory = 0x300000000;
  CUgraph graph_ = reinterpret_cast<CUgraph>(std::uintptr_t{0x70});
};

TEST_F(NameNodeMemory, ALaunchWhileTheLastOnesMemoryLivesIsExplained) {
  CUgraphExec exec = instantiate();
  launch(exec);
  launch(exec, CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings(), ElementsAre("graph-memory-freed"));
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("0x300000000, lives since the launch of"));
}

TEST_F(NameNodeMemory, WhereItWasFreedTheReasonIsAnother) {
  CUgraphExec exec = instantiate();
  launch(exec);
  EXPECT_OK(run(calls::MemFreeAsync{kMemory, s_}));
  launch(exec, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(NameNodeMemory, AGraphThatFreesItMayBeLaunchedAgain) {
  answers.graphs[graph_] = {{1, 2}, {{1, 2}}};
  CUgraphExec exec = instantiate();
  launch(exec);
  launch(exec, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(NameNodeMemory, AnotherGraphFreesItWhereItIsLaunched) {
  CUgraphExec exec = instantiate();
  answers.exec = 0x9f;
  const auto frees = reinterpret_cast<CUgraph>(std::uintptr_t{0x71});
  answers.graphs[frees] = {{2}, {}};
  CUgraphExec freeing = nullptr;
  EXPECT_OK(run(calls::GraphInstantiateWithFlags{&freeing, frees, 0}));
  launch(exec);
  launch(freeing);
  launch(exec, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings(), IsEmpty()) << "the memory is free, so the reason is another";
  launch(exec);
  launch(exec, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings(), ElementsAre("graph-memory-freed"));
}

TEST_F(NameNodeMemory, AFreeOfMemoryThatItsGraphFreesIsOneTooMany) {
  answers.graphs[graph_] = {{1, 2}, {{1, 2}}};
  answers.free_async = CUDA_ERROR_INVALID_VALUE;
  CUgraphExec exec = instantiate();
  launch(exec);
  run(calls::MemFreeAsync{kMemory, s_});
  ASSERT_THAT(findings(), ElementsAre("memory-free-known"));
  EXPECT_THAT(sink.all[0].violation.message,
              HasSubstr("a free node of the same graph frees it in each launch, last in that of "));
  EXPECT_THAT(fix_of(sink.all[0].violation), testing::StartsWith("Leave this free out"));
}

TEST_F(NameNodeMemory, AFreeAfterTheOneThatTheGraphLeftToTheProgramIsExplained) {
  CUgraphExec exec = instantiate();
  launch(exec);
  EXPECT_OK(run(calls::MemFreeAsync{kMemory, s_}));
  answers.free_async = CUDA_ERROR_INVALID_VALUE;
  run(calls::MemFreeAsync{kMemory, s_});
  ASSERT_THAT(findings(), ElementsAre("memory-free-known"));
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("until it is freed once"));
  EXPECT_THAT(fix_of(sink.all[0].violation), Not(HasSubstr("Leave this free out")));
}

TEST_F(NameNodeMemory, AFreeBeforeTheFirstLaunchIsExplained) {
  answers.pool_memory = kMemory;
  answers.capturing = {s_};
  EXPECT_OK(run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL}));
  CUdeviceptr ptr = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&ptr, kGranule, s_}));
  answers.capturing.clear();
  answers.free_async = CUDA_ERROR_INVALID_VALUE;
  run(calls::MemFreeAsync{ptr, s_});
  ASSERT_THAT(findings(), ElementsAre("memory-free-known"));
  EXPECT_THAT(sink.all[0].violation.message,
              AllOf(HasSubstr("in memory of a graph's allocation node, captured by call 2")));
}

}  // namespace
}  // namespace cuvmm::shim
