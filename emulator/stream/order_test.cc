// SPDX-License-Identifier: Apache-2.0
// The order of work, where streams work late: no work runs before a call waits for it.
#include <atomic>
#include <thread>

#include "emulator/stream/testing_late.h"

namespace cuvmm::emulator::testing {
namespace {

class LateOrder : public LateTest {};

TEST_F(LateOrder, NothingHasHappenedWhenTheCallReturns) {
  EXPECT_OK(query(a_));
  ASSERT_OK(write(words_[0], 7, a_));
  EXPECT_EQ(*words_[0], 0u);
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(*words_[0], 0u);
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 7u);
  EXPECT_OK(query(a_));
}

TEST_F(LateOrder, AStreamWorksInItsOrder) {
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(copy(words_[1], words_[0], a_));
  ASSERT_OK(write(words_[0], 2, a_));
  ASSERT_OK(copy(words_[2], words_[0], a_));
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[1], 1u);
  EXPECT_EQ(*words_[2], 2u);
}

TEST_F(LateOrder, StreamsAreNotOrderedByThemselves) {
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(copy(words_[1], words_[0], b_));
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[1], 0u) << "it was copied before it was written";
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
}

TEST_F(LateOrder, AnEventOrdersThem) {
  CUevent done = event();
  EXPECT_OK(driver()(calls::EventQuery{done})) << "never recorded";
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(record(done, a_));
  ASSERT_OK(wait(b_, done));
  ASSERT_OK(copy(words_[1], words_[0], b_));
  EXPECT_EQ(driver()(calls::EventQuery{done}), CUDA_ERROR_NOT_READY);
  EXPECT_OK(driver()(calls::EventDestroy{done})) << "what waits for it goes on to";
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[1], 1u);
}

TEST_F(LateOrder, AnEventOfTheContextIsBehindAllItsStreams) {
  CUevent done = event();
  CUcontext context = nullptr;
  ASSERT_OK(driver()(calls::CtxGetCurrent{&context}));
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(write(words_[1], 2, b_));
  ASSERT_OK(driver()(calls::CtxRecordEvent{context, done}));
  EXPECT_EQ(driver()(calls::EventQuery{done}), CUDA_ERROR_NOT_READY);
  EXPECT_OK(driver()(calls::EventSynchronize{done}));
  EXPECT_EQ(*words_[0], 1u);
  EXPECT_EQ(*words_[1], 2u);
}

TEST_F(LateOrder, AllStreamsOfAContextWaitForAnEvent) {
  CUevent done = event();
  CUcontext context = nullptr;
  ASSERT_OK(driver()(calls::CtxGetCurrent{&context}));
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(record(done, a_));
  ASSERT_OK(driver()(calls::CtxWaitEvent{context, done}));
  ASSERT_OK(copy(words_[1], words_[0], b_));
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[1], 1u);
}

TEST_F(LateOrder, AWaitIsForWhatWasRecordedByThen) {
  CUevent done = event();
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(record(done, a_));
  ASSERT_OK(wait(b_, done));
  ASSERT_OK(copy(words_[1], words_[0], b_));
  ASSERT_OK(hold(a_, words_[3]));
  ASSERT_OK(record(done, a_));
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[1], 1u);
  EXPECT_EQ(driver()(calls::EventQuery{done}), CUDA_ERROR_NOT_READY);
  *words_[3] = 1;
  EXPECT_OK(driver()(calls::EventSynchronize{done}));
}

TEST_F(LateOrder, AWaitForADoneEventIsAnActionOfTheLegacyStream) {
  CUevent done = event();
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(wait(nullptr, done));
  ASSERT_OK(copy(words_[1], words_[0], b_));
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[1], 0u) << "the event was never recorded";
  ASSERT_OK(record(done, apart_));
  ASSERT_OK(driver()(calls::EventSynchronize{done}));
  ASSERT_OK(wait(apart_, done));
  EXPECT_OK(query(apart_)) << "another stream has nothing to do for it";
  ASSERT_OK(wait(nullptr, done));
  ASSERT_OK(copy(words_[2], words_[0], b_));
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[2], 1u) << "it waited for one blocking stream, and the other for it";
}

TEST_F(LateOrder, TheTimeBetweenEventsIsKnownOnceBothAreDone) {
  CUevent first = event(), second = event();
  ASSERT_OK(record(first, a_));
  ASSERT_OK(record(second, a_));
  auto* const elapsed = symbol<CUresult(float*, CUevent, CUevent)>("cuEventElapsedTime");
  float milliseconds = -1;
  EXPECT_EQ(elapsed(&milliseconds, first, second), CUDA_ERROR_NOT_READY);
  ASSERT_OK(driver()(calls::EventSynchronize{second}));
  EXPECT_OK(elapsed(&milliseconds, first, second));
  EXPECT_GE(milliseconds, 0);
}

TEST_F(LateOrder, WhoAsksForTheTimeAgainAndAgainGetsIt) {
  CUevent first = event(), second = event();
  ASSERT_OK(record(first, a_));
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(record(second, a_));
  float milliseconds = -1;
  CUresult answer = CUDA_ERROR_NOT_READY;
  for (int i = 0; i < 10'000 && answer == CUDA_ERROR_NOT_READY; ++i) {
    answer = driver()(calls::EventElapsedTime{&milliseconds, first, second});
  }
  EXPECT_OK(answer);
  EXPECT_EQ(*words_[0], 1u);
}

TEST_F(LateOrder, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(write(words_[3], 1, apart_));
  ASSERT_OK(copy(words_[1], words_[0], nullptr));
  ASSERT_OK(copy(words_[2], words_[1], b_));
  EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[2], 1u);
  EXPECT_OK(query(a_));
  EXPECT_EQ(query(apart_), CUDA_ERROR_NOT_READY) << "it waits for nobody, and nobody for it";
  ASSERT_OK(write(words_[0], 2, a_));
  EXPECT_OK(synchronise(CU_STREAM_LEGACY));
  EXPECT_EQ(*words_[0], 2u);
  EXPECT_EQ(query(apart_), CUDA_ERROR_NOT_READY);
}

// As observed on an H100 (driver 580.159.04).
TEST_F(LateOrder, AnEventAloneKeepsNoBlockingStreamBusyBehindTheLegacyOne) {
  CUevent first = event(), second = event();
  ASSERT_OK(hold(CU_STREAM_LEGACY, words_[3]));
  ASSERT_OK(record(first, a_));
  EXPECT_OK(query(a_));
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(driver()(calls::EventQuery{first}), CUDA_ERROR_NOT_READY);
  ASSERT_OK(record(second, CU_STREAM_PER_THREAD));
  EXPECT_OK(synchronise(CU_STREAM_PER_THREAD));
  EXPECT_EQ(driver()(calls::EventQuery{second}), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
  *words_[3] = 1;
  EXPECT_OK(driver()(calls::EventSynchronize{first}));
  EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY) << "the other record is left";
  EXPECT_OK(synchronise(nullptr));
  EXPECT_OK(driver()(calls::EventQuery{second}));
}

TEST_F(LateOrder, ABlockingStreamWaitsForTheLegacyOneBehindAnEventOnceItHasWork) {
  CUevent done = event();
  ASSERT_OK(write(words_[0], 1, nullptr));
  ASSERT_OK(record(done, a_));
  ASSERT_OK(copy(words_[1], words_[0], a_));
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[1], 1u);
  EXPECT_OK(driver()(calls::EventQuery{done}));
}

TEST_F(LateOrder, AStreamIsBusyUntilTheEventBehindItsOwnWork) {
  CUevent done = event();
  ASSERT_OK(write(words_[0], 1, nullptr));
  ASSERT_OK(write(words_[1], 1, a_));
  ASSERT_OK(record(done, a_));
  EXPECT_OK(synchronise(a_));
  EXPECT_OK(driver()(calls::EventQuery{done}));
}

TEST_F(LateOrder, AnEventBehindMoreOfTheLegacyStreamIsDoneWithAStreamThatWaitsForThat) {
  CUevent done = event(), legacy = event();
  ASSERT_OK(write(words_[0], 1, nullptr));
  ASSERT_OK(record(legacy, nullptr));
  ASSERT_OK(record(done, a_));
  ASSERT_OK(wait(a_, legacy));
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 1u);
  EXPECT_OK(driver()(calls::EventQuery{done}));
}

TEST_F(LateOrder, ABlockingStreamThatWaitsForAnEventWaitsForItAlone) {
  CUevent done = event();
  ASSERT_OK(hold(CU_STREAM_LEGACY, words_[3]));
  ASSERT_OK(write(words_[0], 1, apart_));
  ASSERT_OK(record(done, apart_));
  ASSERT_OK(wait(a_, done));
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 1u);
  EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
  ASSERT_OK(write(words_[1], 1, a_));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(*words_[1], 0u) << "work waits for the legacy stream";
  *words_[3] = 1;
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[1], 1u);
}

TEST_F(LateOrder, AContextWaitsForARecordBehindTheLegacyStream) {
  CUevent done = event();
  ASSERT_OK(write(words_[0], 1, nullptr));
  ASSERT_OK(record(done, a_));
  EXPECT_OK(synchronise_context());
  EXPECT_OK(driver()(calls::EventQuery{done}));
}

TEST_F(LateOrder, NullIsTheThreadsOwnStreamUnderNamesForThat) {
  auto* const own =
      symbol<std::remove_pointer_t<calls::MemsetD32Async::Function>>("cuMemsetD32Async_ptsz");
  ASSERT_OK(write(words_[0], 1, nullptr));
  EXPECT_OK(query(CU_STREAM_PER_THREAD));
  ASSERT_OK(own(address(words_[1]), 1, 1, nullptr));
  EXPECT_EQ(query(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  std::thread([this] {
    EXPECT_OK(driver()(calls::CtxSetCurrent{context_}));
    EXPECT_OK(query(CU_STREAM_PER_THREAD)) << "another thread's is another stream";
    EXPECT_EQ(query(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
  }).join();
  EXPECT_OK(synchronise(CU_STREAM_PER_THREAD));
  EXPECT_EQ(*words_[0], 1u) << "it is a blocking stream";
  EXPECT_EQ(*words_[1], 1u);
}

TEST_F(LateOrder, ACopyUnderSuchANameWaitsForTheThreadsOwnStreamAlone) {
  auto* const fill_own =
      symbol<std::remove_pointer_t<calls::MemsetD32::Function>>("cuMemsetD32_v2_ptds");
  ASSERT_OK(write(words_[0], 1, a_));
  EXPECT_OK(fill_own(address(words_[1]), 1, 1));
  EXPECT_EQ(*words_[1], 1u);
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
}

TEST_F(LateOrder, AContextWaitsForAllOfItsStreams) {
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(write(words_[1], 1, apart_));
  ASSERT_OK(write(words_[2], 1, nullptr));
  CUcontext other = new_context();
  EXPECT_OK(synchronise_context());
  EXPECT_EQ(*words_[0] + *words_[1] + *words_[2], 0u) << "another context's";
  EXPECT_OK(driver()(calls::CtxSynchronize_v2{context_}));
  EXPECT_EQ(*words_[0] + *words_[1] + *words_[2], 3u);
  EXPECT_OK(driver()(calls::CtxDestroy{other}));
}

TEST_F(LateOrder, ADestroyedStreamFinishesItsWork) {
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(driver()(calls::StreamDestroy{a_}));
  EXPECT_EQ(*words_[0], 0u);
  EXPECT_EQ(query(a_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(synchronise(nullptr));
  EXPECT_EQ(*words_[0], 1u);
}

TEST_F(LateOrder, AContextThatEndsFinishesItsWork) {
  CUcontext other = new_context();
  CUstream its = stream();
  ASSERT_OK(write(words_[0], 1, its));
  ASSERT_OK(hold(its, words_[3]));
  ASSERT_OK(write(words_[1], 1, its));
  EXPECT_OK(driver()(calls::CtxDestroy{other}));
  EXPECT_EQ(*words_[0], 1u);
  EXPECT_EQ(*words_[1], 0u) << "what nobody lets go on is dropped";
}

TEST_F(LateOrder, AValueHoldsAStreamUp) {
  ASSERT_OK(hold(a_, words_[3]));
  ASSERT_OK(write(words_[0], 1, a_));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(*words_[0], 0u);
  *words_[3] = 1;
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 1u);
}

TEST_F(LateOrder, AnotherStreamWritesTheValue) {
  ASSERT_OK(hold(a_, words_[3]));
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(driver()(
      calls::StreamWriteValue32{.stream = apart_, .addr = address(words_[3]), .value = 1}));
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 1u);
}

TEST_F(LateOrder, AnotherThreadWritesTheValue) {
  ASSERT_OK(hold(a_, words_[3]));
  std::thread writer([this] { *words_[3] = 1; });
  EXPECT_OK(synchronise(a_));
  writer.join();
}

TEST_F(LateOrder, ABatchGoesOnWhereItWaited) {
  CUstreamBatchMemOpParams operations[3] = {};
  StreamAtomicReduction& sum = reduction_of(operations[0]);
  sum.operation = kStreamMemOpAtomicReduction;
  sum.reduction = kReductionAdd;
  sum.data_type = kReduction32;
  sum.address = address(words_[0]);
  sum.value = 1;
  operations[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = address(words_[3]);
  operations[1].waitValue.value = 1;
  operations[2].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[2].writeValue.address = address(words_[1]);
  operations[2].writeValue.value = 5;
  ASSERT_OK(driver()(
      calls::StreamBatchMemOp{.stream = a_, .count = 3, .paramArray = operations, .flags = 0}));
  operations[0] = operations[1] = operations[2] = {};
  for (int i = 0; i < 100; ++i) ASSERT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(*words_[0], 1u);
  EXPECT_EQ(*words_[1], 0u);
  *words_[3] = 1;
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 1u);
  EXPECT_EQ(*words_[1], 5u);
}

void increase(void* word) { ++*static_cast<unsigned*>(word); }

TEST_F(LateOrder, HostFunctionsAreWorkOfTheirStream) {
  unsigned called = 0;
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(driver()(calls::LaunchHostFunc{a_, increase, &called}));
  EXPECT_EQ(called, 0u);
  int polls = 0;
  while (query(a_) == CUDA_ERROR_NOT_READY && polls < 1000) ++polls;
  EXPECT_LT(polls, 1000) << "a program that polls gets on";
  EXPECT_GT(polls, 1);
  EXPECT_EQ(called, 1u);
  EXPECT_EQ(*words_[0], 1u);
}

TEST_F(LateOrder, AHostFunctionMayWaitForTheProgram) {
  std::atomic<bool> open{false};
  const auto wait_for_it = [](void* gate) {
    while (!static_cast<std::atomic<bool>*>(gate)->load()) std::this_thread::yield();
  };
  ASSERT_OK(driver()(calls::LaunchHostFunc{a_, wait_for_it, &open}));
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(write(words_[1], 1, apart_));
  for (int polls = 0; polls < 100; ++polls) EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_OK(synchronise(apart_));
  EXPECT_EQ(*words_[1], 1u);
  EXPECT_EQ(*words_[0], 0u);
  open = true;
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 1u);
}

TEST_F(LateOrder, AHostFunctionLetsAnotherStreamGoOn) {
  ASSERT_OK(hold(b_, words_[3]));
  void* const word = const_cast<unsigned*>(words_[3]);
  ASSERT_OK(driver()(calls::LaunchHostFunc{a_, increase, word}));
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(*words_[3], 1u);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
