// SPDX-License-Identifier: Apache-2.0
// Launches of graphs, batches of copies and external semaphores, where streams work late.
#include "emulator/machine/semaphore.h"
#include "emulator/stream/testing_late.h"

namespace cuvmm::emulator::testing {
namespace {

class LateGraph : public LateTest {
 protected:
  /// An executable graph of the work that the body queues to `a_`.
  template <class Body>
  CUgraphExec captured(Body&& body) {
    CUgraph graph = nullptr;
    EXPECT_OK(driver()(calls::StreamBeginCapture{a_, CU_STREAM_CAPTURE_MODE_GLOBAL}));
    body();
    EXPECT_OK(driver()(calls::StreamEndCapture{a_, &graph}));
    CUgraphExec made = nullptr;
    EXPECT_OK(driver()(calls::GraphInstantiateWithFlags{&made, graph, 0}));
    return made;
  }
  static CUresult launch(CUgraphExec graph, CUstream stream) {
    return driver()(calls::GraphLaunch{graph, stream});
  }
};

void increase(void* word) { ++*static_cast<unsigned*>(word); }

TEST_F(LateGraph, ALaunchIsOnePieceOfWork) {
  unsigned called = 0;
  CUgraphExec graph = captured([&] {
    EXPECT_OK(write(words_[0], 7, a_));
    EXPECT_OK(driver()(calls::LaunchHostFunc{a_, increase, &called}));
    EXPECT_OK(copy(words_[1], words_[0], a_));
  });
  ASSERT_OK(launch(graph, b_));
  EXPECT_OK(driver()(calls::GraphExecDestroy{graph})) << "while it is launched";
  EXPECT_EQ(query(b_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(called, 0u);
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(called, 1u);
  EXPECT_EQ(*words_[1], 7u);
}

TEST_F(LateGraph, LaunchesOfOneGraphComeOneAfterTheOther) {
  unsigned called = 0;
  CUgraphExec graph = captured([&] {
    EXPECT_OK(driver()(calls::LaunchHostFunc{a_, increase, &called}));
  });
  ASSERT_OK(launch(graph, a_));
  ASSERT_OK(launch(graph, b_));
  EXPECT_OK(synchronise(b_));
  EXPECT_EQ(called, 2u);
}

TEST_F(LateGraph, ANodeThatWaitsHoldsUpTheLaunchAndNobodyElse) {
  unsigned called = 0;
  CUgraphExec graph = captured([&] {
    EXPECT_OK(driver()(calls::LaunchHostFunc{a_, increase, &called}));
    EXPECT_OK(hold(a_, words_[3]));
    EXPECT_OK(write(words_[0], 7, a_));
  });
  ASSERT_OK(launch(graph, a_));
  ASSERT_OK(write(words_[1], 1, b_));
  EXPECT_OK(synchronise(b_));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(called, 1u);
  EXPECT_EQ(*words_[0], 0u);
  *words_[3] = 1;
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(called, 1u) << "it went on where it waited";
  EXPECT_EQ(*words_[0], 7u);
}

TEST_F(LateGraph, MemoryOfALaunchCanBeNamedBeforeItIsThere) {
  CUdeviceptr memory = 0;
  CUgraphExec graph = captured([&] {
    EXPECT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_}));
    EXPECT_OK(fill(memory, 7, a_));
  });
  EXPECT_EQ(driver()(calls::MemcpyAsync{address(words_[0]), memory, sizeof(unsigned), a_}),
            CUDA_ERROR_INVALID_VALUE)
      << "no launch makes it";
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_OK(launch(graph, a_));
    EXPECT_OK(driver()(calls::MemcpyAsync{address(words_[i]), memory, sizeof(unsigned), a_}));
    EXPECT_OK(driver()(calls::MemFreeAsync{memory, a_}));
    EXPECT_EQ(*words_[i], 0u) << "nothing is done yet";
    EXPECT_OK(synchronise(a_));
    EXPECT_EQ(*words_[i], 7u);
  }
  ASSERT_OK(launch(graph, a_));
  ASSERT_OK(launch(graph, a_));
  EXPECT_NE(synchronise(a_), CUDA_SUCCESS) << "the first one's was not freed";
}

TEST_F(LateGraph, MemoryOfSeveralQueuedLaunchesIsFreedBetweenThem) {
  CUdeviceptr memory = 0;
  CUgraphExec graph = captured([&] {
    EXPECT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_}));
    EXPECT_OK(copy(reinterpret_cast<volatile unsigned*>(memory), words_[3], a_));
  });
  const auto free = [&] { return driver()(calls::MemFreeAsync{memory, a_}); };
  for (unsigned i = 0; i < 3; ++i) {
    ASSERT_OK(write(words_[3], 7 + i, a_));
    ASSERT_OK(launch(graph, a_));
    EXPECT_OK(driver()(calls::MemcpyAsync{address(words_[i]), memory, sizeof(unsigned), a_}));
    EXPECT_OK(free()) << i;
    EXPECT_EQ(free(), CUDA_ERROR_INVALID_VALUE) << "once for each launch";
  }
  EXPECT_EQ(*words_[0], 0u) << "nothing is done yet";
  EXPECT_OK(synchronise(a_));
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(*words_[i], 7 + i);
  EXPECT_EQ(free(), CUDA_ERROR_INVALID_VALUE) << "it is gone";
}

TEST_F(LateGraph, MemoryOfTheLastQueuedLaunchStays) {
  CUdeviceptr memory = 0;
  CUgraphExec graph = captured([&] { EXPECT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_})); });
  ASSERT_OK(launch(graph, a_));
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  ASSERT_OK(launch(graph, a_));
  EXPECT_OK(synchronise(a_));
  EXPECT_OK(fill(memory, 1, a_));
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  EXPECT_OK(synchronise(a_));
}

TEST_F(LateGraph, ALaunchIsRefusedWhileMemoryOfTheLastOneLives) {
  CUdeviceptr memory = 0;
  CUgraphExec graph = captured([&] { EXPECT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_})); });
  ASSERT_OK(launch(graph, a_));
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(launch(graph, a_), CUDA_ERROR_INVALID_VALUE) << "as streams do that work at once";
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  EXPECT_OK(launch(graph, a_));
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  EXPECT_OK(synchronise(a_));
}

TEST_F(LateGraph, BetweenAFreeAndTheNextLaunchThereIsNoMemory) {
  CUdeviceptr memory = 0;
  CUgraphExec graph = captured([&] { EXPECT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_})); });
  ASSERT_OK(launch(graph, a_));
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  CUevent freed = event();
  ASSERT_OK(record(freed, a_));
  ASSERT_OK(launch(graph, a_));
  EXPECT_OK(driver()(calls::EventSynchronize{freed}));
  ASSERT_OK(fill(memory, 1, b_));
  EXPECT_NE(synchronise(b_), CUDA_SUCCESS);
}

TEST_F(LateGraph, AGraphThatUsesFreedMemoryIsAFault) {
  const Mapped m = mapped();
  CUgraphExec graph = captured([&] { EXPECT_OK(fill(m.address, 1, a_)); });
  end(m);
  EXPECT_OK(launch(graph, a_));
  EXPECT_EQ(synchronise(a_), CUDA_ERROR_LAUNCH_FAILED) << "a fill's, as on an H200";
}

TEST_F(LateGraph, ABatchOfCopiesIsQueued) {
  const CUdeviceptr memory = device();
  CUdeviceptr to[] = {address(words_[1])}, from[] = {memory};
  std::size_t sizes[] = {4}, first[] = {0};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  ASSERT_OK(fill(memory, 7, a_));
  ASSERT_OK(driver()(calls::MemcpyBatchAsync_v2{.dsts = to,
                                                .srcs = from,
                                                .sizes = sizes,
                                                .count = 1,
                                                .attrs = &attributes,
                                                .attrsIdxs = first,
                                                .numAttrs = 1,
                                                .hStream = a_}));
  EXPECT_EQ(*words_[1], 0u);
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[1], 7u);
}

TEST_F(LateGraph, ASemaphoreHoldsAStreamUpUntilAnotherSignals) {
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
  desc.handle.fd = create_semaphore(SemaphoreKind::kTimeline);
  CUexternalSemaphore semaphore = nullptr;
  ASSERT_OK(driver()(calls::ImportExternalSemaphore{&semaphore, &desc}));
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS until{};
  until.params.fence.value = 2;
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
  signal.params.fence.value = 2;
  ASSERT_OK(driver()(calls::WaitExternalSemaphoresAsync{&semaphore, &until, 1, a_}));
  ASSERT_OK(copy(words_[1], words_[0], a_));
  ASSERT_OK(write(words_[0], 7, apart_));
  ASSERT_OK(driver()(calls::SignalExternalSemaphoresAsync{&semaphore, &signal, 1, apart_}));
  EXPECT_OK(driver()(calls::DestroyExternalSemaphore{semaphore}));
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[1], 7u);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
