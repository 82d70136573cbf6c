// SPDX-License-Identifier: Apache-2.0
// Functions of the program that eager streams call, and that wait for the program.
#include <atomic>
#include <thread>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

/// A function that returns once the test lets it, and then sets `passed`.
struct Gate {
  std::atomic<bool> open{false}, passed{false};

  static void CUDA_CB pass(void* gate) {
    auto& self = *static_cast<Gate*>(gate);
    while (!self.open) std::this_thread::yield();
    self.passed = true;
  }
  static void CUDA_CB call_back(CUstream, CUresult, void* gate) { pass(gate); }
};

class HostCalls : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    for (CUstream* stream : {&stream_, &other_}) {
      ASSERT_OK(driver()(calls::StreamCreate{stream, CU_STREAM_NON_BLOCKING}));
    }
    ASSERT_OK(driver()(calls::MemAlloc{&memory_, 2}));
    ASSERT_OK(driver()(calls::MemsetD8{memory_, 0, 2}));
  }
  void TearDown() override {
    for (CUstream stream : {stream_, other_}) {
      EXPECT_OK(driver()(calls::StreamDestroy{stream}));
    }
    EXPECT_OK(driver()(calls::MemFree{memory_}));
  }
  static CUresult query(CUstream stream) { return driver()(calls::StreamQuery{stream}); }
  CUresult fill(int at, unsigned char value, CUstream stream) const {
    const auto place = memory_ + static_cast<unsigned>(at);
    return driver()(calls::MemsetD8Async{place, value, 1, stream});
  }
  /// The present byte, read through a stream that no function delays.
  int byte(int at) const {
    unsigned char read = 0;
    const auto place = memory_ + static_cast<unsigned>(at);
    EXPECT_OK(driver()(calls::MemcpyDtoHAsync{&read, place, 1, other_}));
    EXPECT_OK(driver()(calls::StreamSynchronize{other_}));
    return read;
  }
  /// The function delays its stream, and nothing else.
  void expect_held_up(Gate& gate) {
    EXPECT_EQ(query(stream_), CUDA_ERROR_NOT_READY);
    EXPECT_OK(fill(0, 1, stream_));
    EXPECT_OK(fill(1, 1, other_));
    EXPECT_EQ(byte(1), 1);
    EXPECT_EQ(byte(0), 0) << "behind the function";
    EXPECT_FALSE(gate.passed);
    gate.open = true;
    EXPECT_OK(driver()(calls::StreamSynchronize{stream_}));
    EXPECT_TRUE(gate.passed);
    EXPECT_EQ(byte(0), 1);
    EXPECT_OK(fill(0, 2, stream_));
    EXPECT_OK(query(stream_)) << "all is done at once again";
  }

  CUstream stream_ = nullptr, other_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(HostCalls, OneThatDoesNotWaitIsOverAtOnce) {
  Gate gate{true};
  ASSERT_OK(driver()(calls::LaunchHostFunc{stream_, Gate::pass, &gate}));
  EXPECT_TRUE(gate.passed);
  EXPECT_OK(query(stream_));
}

TEST_F(HostCalls, AHostFunctionMayWaitForTheProgram) {
  Gate gate;
  ASSERT_OK(driver()(calls::LaunchHostFunc{stream_, Gate::pass, &gate}));
  expect_held_up(gate);
}

TEST_F(HostCalls, ACallbackMayWaitForTheProgram) {
  Gate gate;
  const calls::StreamAddCallback add{stream_, Gate::call_back, &gate, 0};
  ASSERT_OK(driver()(add));
  expect_held_up(gate);
}

TEST_F(HostCalls, ANodeOfAGraphMayWaitForTheProgram) {
  Gate gate;
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_OK(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0));
  const CUDA_HOST_NODE_PARAMS params{Gate::pass, &gate};
  using Add =
      CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_HOST_NODE_PARAMS*);
  ASSERT_OK(symbol<Add>("cuGraphAddHostNode")(&node, graph, nullptr, 0, &params));
  ASSERT_OK(symbol<CUresult(CUgraphExec*, CUgraph, unsigned long long)>(
      "cuGraphInstantiateWithFlags")(&made, graph, 0));
  ASSERT_OK(symbol<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch")(made, stream_));
  expect_held_up(gate);
  EXPECT_OK(symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy")(made));
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
}

TEST_F(HostCalls, OneMayWaitForAThreadThatUsesTheDriver) {
  Gate gate;
  std::thread thread([&] {
    EXPECT_OK(driver()(calls::CtxSetCurrent{context_}));
    EXPECT_OK(fill(1, 1, other_));
    EXPECT_OK(driver()(calls::StreamSynchronize{other_}));
    gate.open = true;
  });
  EXPECT_OK(driver()(calls::LaunchHostFunc{stream_, Gate::pass, &gate}));
  EXPECT_OK(driver()(calls::StreamSynchronize{stream_}));
  EXPECT_TRUE(gate.passed);
  thread.join();
  EXPECT_EQ(byte(1), 1);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
