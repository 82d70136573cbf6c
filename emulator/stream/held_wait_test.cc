// SPDX-License-Identifier: Apache-2.0
// Waits that eager streams are given before anybody ends them.
#include <atomic>
#include <chrono>
#include <thread>

#include "emulator/machine/semaphore.h"
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class HeldWaits : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    for (CUstream* stream : {&waits_, &writes_}) {
      ASSERT_OK(driver()(calls::StreamCreate{stream, CU_STREAM_NON_BLOCKING}));
    }
    void* at = nullptr;
    ASSERT_OK(driver()(calls::MemHostAlloc{&at, 64, 0}));
    words_ = static_cast<std::atomic<unsigned>*>(at);
    for (int i = 0; i < 16; ++i) words_[i] = 0;
  }
  void TearDown() override {
    for (CUstream stream : {waits_, writes_}) {
      EXPECT_OK(driver()(calls::StreamDestroy{stream}));
    }
    EXPECT_OK(driver()(calls::MemFreeHost{words_}));
  }
  CUdeviceptr word(int at) const { return reinterpret_cast<CUdeviceptr>(words_ + at); }
  static CUresult query(CUstream stream) { return driver()(calls::StreamQuery{stream}); }
  static CUresult synchronise(CUstream stream) {
    return driver()(calls::StreamSynchronize{stream});
  }
  CUresult wait_for_word() const {
    return driver()(calls::StreamWaitValue32{
        .stream = waits_, .addr = word(0), .value = 5, .flags = CU_STREAM_WAIT_VALUE_EQ});
  }
  CUresult write(int at, unsigned value, CUstream stream) const {
    return driver()(calls::StreamWriteValue32{.stream = stream, .addr = word(at), .value = value});
  }
  /// The wait holds up its stream until `end()`, and nothing else.
  template <class End>
  void expect_held_up(const End& end) const {
    EXPECT_EQ(query(waits_), CUDA_ERROR_NOT_READY);
    EXPECT_OK(write(1, 1, waits_));
    EXPECT_EQ(words_[1], 0u) << "behind the wait";
    end();
    EXPECT_OK(synchronise(waits_));
    EXPECT_EQ(words_[1], 1u);
    EXPECT_OK(write(2, 1, waits_));
    EXPECT_EQ(words_[2], 1u) << "all is done at once again";
  }

  CUstream waits_ = nullptr, writes_ = nullptr;
  std::atomic<unsigned>* words_ = nullptr;
};

TEST_F(HeldWaits, AnotherStreamWritesTheValue) {
  ASSERT_OK(wait_for_word());
  expect_held_up([&] { EXPECT_OK(write(0, 5, writes_)); });
}

TEST_F(HeldWaits, TheProgramWritesTheValue) {
  ASSERT_OK(wait_for_word());
  expect_held_up([&] { words_[0] = 5; });
}

TEST_F(HeldWaits, AValueOf64BitsAndABatchWaitToo) {
  ASSERT_OK(driver()(calls::StreamWaitValue64{.stream = waits_, .addr = word(0), .value = 5}));
  expect_held_up([&] { words_[0] = 5; });
  CUstreamBatchMemOpParams operations[3] = {};
  operations[0].operation = operations[2].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = word(4);
  operations[0].writeValue.value = 1;
  operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = word(0);
  operations[1].waitValue.value = 6;
  operations[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[2].writeValue.address = word(5);
  operations[2].writeValue.value = 1;
  words_[1] = 0;
  words_[2] = 0;
  ASSERT_OK(driver()(
      calls::StreamBatchMemOp{.stream = waits_, .count = 3, .paramArray = operations, .flags = 0}));
  EXPECT_EQ(words_[4], 1u) << "before the wait";
  EXPECT_EQ(words_[5], 0u) << "behind the wait";
  words_[4] = 0;
  expect_held_up([&] { words_[0] = 6; });
  EXPECT_EQ(words_[4], 0u) << "written once";
  EXPECT_EQ(words_[5], 1u);
}

TEST_F(HeldWaits, TheWorkIsDoneWithoutAnotherCall) {
  ASSERT_OK(wait_for_word());
  ASSERT_OK(write(1, 1, waits_));
  words_[0] = 5;
  while (words_[1] == 0) std::this_thread::yield();
  EXPECT_OK(synchronise(waits_));
}

TEST_F(HeldWaits, AnEventBehindTheWaitIsNotOver) {
  CUevent event = nullptr;
  ASSERT_OK(driver()(calls::EventCreate{&event, CU_EVENT_DISABLE_TIMING}));
  ASSERT_OK(wait_for_word());
  ASSERT_OK(driver()(calls::EventRecord{event, waits_}));
  ASSERT_OK(driver()(calls::StreamWaitEvent{writes_, event, 0}));
  ASSERT_OK(write(3, 1, writes_));
  EXPECT_EQ(driver()(calls::EventQuery{event}), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(words_[3], 0u);
  words_[0] = 5;
  EXPECT_OK(synchronise(writes_));
  EXPECT_OK(driver()(calls::EventQuery{event}));
  EXPECT_EQ(words_[3], 1u);
  EXPECT_OK(driver()(calls::EventDestroy{event}));
}

TEST_F(HeldWaits, ALaunchedGraphWaitsForTheStreamBesideIt) {
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  ASSERT_OK(driver()(calls::StreamBeginCapture{waits_, CU_STREAM_CAPTURE_MODE_RELAXED}));
  ASSERT_OK(wait_for_word());
  ASSERT_OK(write(3, 7, waits_));
  ASSERT_OK(driver()(calls::StreamEndCapture{waits_, &graph}));
  ASSERT_OK(driver()(calls::GraphInstantiateWithFlags{&made, graph, 0}));
  ASSERT_OK(driver()(calls::GraphLaunch{made, waits_}));
  ASSERT_OK(driver()(calls::GraphLaunch{made, writes_}));
  EXPECT_EQ(query(writes_), CUDA_ERROR_NOT_READY) << "the launches come one after the other";
  EXPECT_EQ(words_[3], 0u);
  expect_held_up([&] { words_[0] = 5; });
  EXPECT_OK(synchronise(writes_));
  EXPECT_EQ(words_[3], 7u);
  EXPECT_OK(driver()(calls::GraphExecDestroy{made}));
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
}

TEST_F(HeldWaits, ASemaphoreIsSignalledByAnotherStream) {
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
  desc.handle.fd = create_semaphore(SemaphoreKind::kTimeline);
  CUexternalSemaphore semaphore = nullptr;
  ASSERT_OK(driver()(calls::ImportExternalSemaphore{&semaphore, &desc}));
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
  wait.params.fence.value = signal.params.fence.value = 3;
  ASSERT_OK(driver()(calls::WaitExternalSemaphoresAsync{&semaphore, &wait, 1, waits_}));
  expect_held_up([&] {
    EXPECT_OK(driver()(calls::SignalExternalSemaphoresAsync{&semaphore, &signal, 1, writes_}));
  });
  EXPECT_OK(driver()(calls::DestroyExternalSemaphore{semaphore}));
}

// The two tests below take as long as the emulator waits.
TEST_F(HeldWaits, AWaitThatNobodyCanEndIsAnswered) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own, which might end the wait";
#endif
  ASSERT_OK(wait_for_word());
  EXPECT_EQ(synchronise(waits_), CUDA_ERROR_TIMEOUT);
  words_[0] = 5;
  EXPECT_OK(synchronise(waits_));
}

TEST_F(HeldWaits, AWaitThatAnotherThreadMayEndGoesOn) {
  constexpr std::chrono::milliseconds kLongerThanTheEmulatorWaitsAlone{11'000};
  ASSERT_OK(wait_for_word());
  std::thread late([&] {
    std::this_thread::sleep_for(kLongerThanTheEmulatorWaitsAlone);
    words_[0] = 5;
  });
  EXPECT_OK(synchronise(waits_));
  EXPECT_EQ(words_[0], 5u);
  late.join();
}

}  // namespace
}  // namespace cuvmm::emulator::testing
