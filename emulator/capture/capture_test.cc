// SPDX-License-Identifier: Apache-2.0
// The behaviour of captures and graphs. testing_capture/ has the answers of calls while another
// stream captures.
#include <malloc.h>

#include <set>
#include <thread>
#include <utility>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class CaptureTest : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_EQ(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 1), CUDA_SUCCESS);
  }
  void TearDown() override {
    destroy(stream_);
    EmulatorTest::TearDown();
  }
  static CUresult destroy(CUstream stream) {
    return symbol<CUresult(CUstream)>("cuStreamDestroy_v2")(stream);
  }
  CUresult begin() {
    return symbol<CUresult(CUstream, int)>("cuStreamBeginCapture_v2")(stream_, 0);
  }
  CUresult end(CUgraph* graph) {
    return symbol<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream_, graph);
  }
  // Ends the capture and instantiates it; null where the capture gave no graph.
  CUgraphExec made() {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(end(&graph), CUDA_SUCCESS);
    auto* instantiate =
        symbol<CUresult(CUgraphExec*, CUgraph, unsigned long long)>("cuGraphInstantiateWithFlags");
    EXPECT_EQ(instantiate(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph), CUDA_SUCCESS);
    return executable;
  }
  static CUresult launch(CUgraphExec executable) {
    return symbol<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch")(executable, nullptr);
  }
  static CUresult allocate() {
    CUdeviceptr address = 0;
    const CUresult result = driver()(calls::MemAlloc{&address, 4096});
    if (result == CUDA_SUCCESS) driver()(calls::MemFree{address});
    return result;
  }
  static int byte_at(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_EQ(driver()(calls::MemcpyDtoH{&byte, address, 1}), CUDA_SUCCESS);
    return byte;
  }

  CUstream stream_ = nullptr;
  int calls_made_ = 0;
};

TEST_F(CaptureTest, CapturedWorkIsDoneAtEachLaunch) {
  const Mapped m = mapped();
  ASSERT_EQ(driver()(calls::MemsetD8{m.address, 1, 16}), CUDA_SUCCESS);
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemsetD8Async{m.address, 7, 1, stream_}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemcpyDtoDAsync{m.address + 8, m.address, 1, stream_}), CUDA_SUCCESS);
  CUgraphExec executable = made();
  EXPECT_EQ(byte_at(m.address), 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(driver()(calls::MemsetD8{m.address, 1, 16}), CUDA_SUCCESS);
    ASSERT_EQ(launch(executable), CUDA_SUCCESS);
    EXPECT_EQ(byte_at(m.address), 7);
    EXPECT_EQ(byte_at(m.address + 8), 7);
  }
  EXPECT_EQ(driver()(calls::MemUnmap{m.address, m.size}), CUDA_SUCCESS);
  EXPECT_EQ(launch(executable), CUDA_ERROR_LAUNCH_FAILED);
  auto* destroy_it = symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy");
  EXPECT_EQ(destroy_it(executable), CUDA_SUCCESS);
  EXPECT_EQ(destroy_it(executable), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(executable), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CaptureTest, MemoryOfNodesIsThereFromTheLaunchOn) {
  const Mapped m = mapped();
  CUdeviceptr memory = 0;
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemAllocAsync{&memory, 4096, stream_}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemsetD8Async{memory, 9, 4096, stream_}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemcpyDtoDAsync{m.address, memory + 4095, 1, stream_}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemcpyDtoDAsync{m.address, memory + 4096, 1, stream_}),
            CUDA_ERROR_INVALID_VALUE);
  CUgraphExec executable = made();
  EXPECT_EQ(driver()(calls::MemsetD8{memory, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(launch(executable), CUDA_SUCCESS);
  EXPECT_EQ(byte_at(m.address), 9);
  EXPECT_EQ(byte_at(memory), 9);
  // The memory of the first launch is not freed yet.
  EXPECT_EQ(launch(executable), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(launch(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, nullptr}), CUDA_SUCCESS);
}

// As an H100 does, also before the first graph is launched.
TEST_F(CaptureTest, AnotherGraphFreesTheMemory) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemAllocAsync{&memory, 4096, stream_}), CUDA_SUCCESS);
  CUgraphExec allocates = made();
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemsetD8Async{memory, 9, 4096, stream_}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, stream_}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, stream_}), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec frees = made();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(launch(allocates), CUDA_SUCCESS);
    EXPECT_EQ(launch(frees), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, nullptr}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CaptureTest, HostFunctionsRunAtTheLaunch) {
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  auto* call = symbol<CUresult(CUstream, CUhostFn, void*)>("cuLaunchHostFunc");
  ASSERT_EQ(call(stream_, count, &calls_made_), CUDA_SUCCESS);
  CUgraphExec executable = made();
  EXPECT_EQ(calls_made_, 0);
  EXPECT_EQ(launch(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::CtxSynchronize{}), CUDA_SUCCESS);
  EXPECT_EQ(calls_made_, 1);
}

TEST_F(CaptureTest, AKernelIsANodeAndSkippedAtTheLaunch) {
  auto* kernel = symbol<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, CUstream, void**, void**)>("cuLaunchKernel");
  const auto function = reinterpret_cast<CUfunction>(&calls_made_);
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  const std::string early = stderr_of([&] {
    EXPECT_EQ(kernel(function, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr), CUDA_SUCCESS);
  });
  EXPECT_EQ(early, "");
  CUgraphExec executable = made();
  // Only the first skipped launch is reported on stderr.
  stderr_of([&] { EXPECT_EQ(launch(executable), CUDA_SUCCESS); });
}

TEST_F(CaptureTest, WorkOfAnotherStreamHasToBeJoined) {
  CUstream other = nullptr;
  CUevent event = nullptr;
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_EQ(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  for (const bool join : {false, true}) {
    CUdeviceptr memory = 0;
    CUgraph graph = nullptr;
    ASSERT_EQ(begin(), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::EventRecord{event, stream_}), CUDA_SUCCESS);
    ASSERT_EQ(wait(other, event, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::MemAllocAsync{&memory, 4096, other}), CUDA_SUCCESS);
    if (join) {
      ASSERT_EQ(driver()(calls::EventRecord{event, other}), CUDA_SUCCESS);
      ASSERT_EQ(wait(stream_, event, 0), CUDA_SUCCESS);
    }
    EXPECT_EQ(end(&graph), join ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(driver()(calls::MemAllocAsync{&memory, 4096, other}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::MemFreeAsync{memory, other}), CUDA_SUCCESS);
  }
  EXPECT_EQ(destroy(other), CUDA_SUCCESS);
}

// Only work before the record of an event is joined by a wait for the event.
TEST_F(CaptureTest, WorkBehindTheEventIsNotJoined) {
  CUstream other = nullptr, third = nullptr;
  CUevent event = nullptr;
  auto* create = symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate");
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_EQ(create(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(create(&third, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  const Mapped m = mapped();
  const auto fill = [&](CUstream stream) {
    EXPECT_EQ(driver()(calls::MemsetD8Async{m.address, 1, 1, stream}), CUDA_SUCCESS);
  };
  const auto join = [&](CUstream from, CUstream to) {
    EXPECT_EQ(driver()(calls::EventRecord{event, from}), CUDA_SUCCESS);
    EXPECT_EQ(wait(to, event, 0), CUDA_SUCCESS);
  };
  CUgraph graph = nullptr;
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  join(stream_, other);
  EXPECT_EQ(driver()(calls::EventRecord{event, other}), CUDA_SUCCESS);
  fill(other);
  EXPECT_EQ(wait(stream_, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(end(&graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

  // A stream that waits for another one has to be joined itself.
  for (const bool joined : {false, true}) {
    ASSERT_EQ(begin(), CUDA_SUCCESS);
    join(stream_, other);
    fill(other);
    join(other, third);
    if (joined) join(third, stream_);
    EXPECT_EQ(end(&graph), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  }
  EXPECT_EQ(destroy(other), CUDA_SUCCESS);
  EXPECT_EQ(destroy(third), CUDA_SUCCESS);
  testing::end(m);
}

// An H100: the work of a destroyed stream stays in the capture, and has to be joined.
TEST_F(CaptureTest, GoesOnWhenAStreamThatJoinedIsDestroyed) {
  enum class Work { kNone, kLeft, kJoinedBefore, kJoinedBehind };
  CUevent event = nullptr;
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  const Mapped m = mapped();
  for (const Work work : {Work::kNone, Work::kLeft, Work::kJoinedBefore, Work::kJoinedBehind}) {
    CUstream other = nullptr;
    CUgraph graph = nullptr;
    ASSERT_EQ(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&other, 1), CUDA_SUCCESS);
    ASSERT_EQ(begin(), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::EventRecord{event, stream_}), CUDA_SUCCESS);
    ASSERT_EQ(wait(other, event, 0), CUDA_SUCCESS);
    if (work != Work::kNone) {
      ASSERT_EQ(driver()(calls::MemsetD8Async{m.address, 1, 1, other}), CUDA_SUCCESS);
      ASSERT_EQ(driver()(calls::EventRecord{event, other}), CUDA_SUCCESS);
    }
    if (work == Work::kJoinedBefore) {
      ASSERT_EQ(wait(stream_, event, 0), CUDA_SUCCESS);
    }
    EXPECT_EQ(destroy(other), CUDA_SUCCESS);
    if (work == Work::kJoinedBehind) {
      EXPECT_EQ(wait(stream_, event, 0), CUDA_SUCCESS);
    }
    EXPECT_EQ(driver()(calls::MemsetD8Async{m.address, 2, 1, stream_}), CUDA_SUCCESS);
    EXPECT_EQ(end(&graph), work == Work::kLeft ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED : CUDA_SUCCESS);
  }
  testing::end(m);
}

TEST_F(CaptureTest, EdgesSayWhatTheStreamsWaitFor) {
  const Mapped m = mapped();
  CUstream other = nullptr;
  CUevent event = nullptr;
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_EQ(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  const auto fill = [&](CUstream stream) {
    EXPECT_EQ(driver()(calls::MemsetD8Async{m.address, 1, 1, stream}), CUDA_SUCCESS);
  };
  const auto join = [&](CUstream from, CUstream to) {
    EXPECT_EQ(driver()(calls::EventRecord{event, from}), CUDA_SUCCESS);
    EXPECT_EQ(wait(to, event, 0), CUDA_SUCCESS);
  };
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  fill(stream_);  // node 0
  join(stream_, other);
  fill(other);    // node 1, after 0
  fill(stream_);  // node 2, after 0
  join(other, stream_);
  fill(stream_);  // node 3, after 1 and 2
  CUgraph graph = nullptr;
  ASSERT_EQ(end(&graph), CUDA_SUCCESS);
  CUgraphNode nodes[4] = {}, from[5] = {}, to[5] = {};
  size_t count = 4;
  auto* get_nodes = symbol<CUresult(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetNodes");
  ASSERT_EQ(get_nodes(graph, nodes, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 4u);
  count = 5;
  auto* get_edges =
      symbol<CUresult(CUgraph, CUgraphNode*, CUgraphNode*, size_t*)>("cuGraphGetEdges");
  ASSERT_EQ(get_edges(graph, from, to, &count), CUDA_SUCCESS);
  std::set<std::pair<CUgraphNode, CUgraphNode>> edges;
  for (size_t i = 0; i < count; ++i) edges.insert({from[i], to[i]});
  const decltype(edges) expected = {
      {nodes[0], nodes[1]}, {nodes[0], nodes[2]}, {nodes[1], nodes[3]}, {nodes[2], nodes[3]}};
  EXPECT_EQ(edges, expected);
  EXPECT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph), CUDA_SUCCESS);
  EXPECT_EQ(destroy(other), CUDA_SUCCESS);
  testing::end(m);
}

TEST_F(CaptureTest, ACaptureEndsWithItsStream) {
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  EXPECT_EQ(destroy(stream_), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  // The documented answer about a handle that is not valid. An H100 (580.159.04) dies of this call.
  EXPECT_EQ(end(&graph), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CaptureTest, ACaptureEndsWithItsContext) {
  ASSERT_EQ(destroy(stream_), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context, 0, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 1), CUDA_SUCCESS);
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  EXPECT_EQ(symbol<CUresult(CUcontext)>("cuCtxDestroy_v2")(context), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::CtxSetCurrent{context_}), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST_F(CaptureTest, EachThreadHasItsOwnPerThreadStream) {
  ASSERT_EQ(destroy(stream_), CUDA_SUCCESS);
  stream_ = CU_STREAM_PER_THREAD;
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  CUstreamCaptureStatus own{}, other = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  auto* ask = symbol<CUresult(CUstream, CUstreamCaptureStatus*)>("cuStreamIsCapturing");
  EXPECT_EQ(ask(CU_STREAM_PER_THREAD, &own), CUDA_SUCCESS);
  std::thread([&] {
    EXPECT_EQ(driver()(calls::CtxSetCurrent{context_}), CUDA_SUCCESS);
    EXPECT_EQ(ask(CU_STREAM_PER_THREAD, &other), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(own, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(other, CU_STREAM_CAPTURE_STATUS_NONE);
  CUgraph graph = nullptr;
  EXPECT_EQ(end(&graph), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST_F(CaptureTest, TellsOfACaptureAndOfTheGraphThatItEndsIn) {
  auto* ask =
      symbol<CUresult(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**,
                      const CUgraphEdgeData**, std::size_t*)>("cuStreamGetCaptureInfo_v3");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  cuuint64_t first = 0, second = 0;
  const auto id_of = [&](cuuint64_t* id) {
    return ask(stream_, &status, id, nullptr, nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(id_of(&first), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(first, 0u) << "without a capture, nothing but the status is written";
  EXPECT_EQ(ask(stream_, nullptr, &first, nullptr, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);

  const Mapped m = mapped();
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  CUgraph graph = nullptr, ended = nullptr;
  const CUgraphNode* dependencies = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 9;
  ASSERT_EQ(ask(stream_, &status, &first, &graph, &dependencies, &edges, &count), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(driver()(calls::MemsetD8Async{m.address, 7, 1, stream_}), CUDA_SUCCESS);
  ASSERT_EQ(ask(stream_, &status, &first, &graph, &dependencies, &edges, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  CUgraphNode node = dependencies[0];
  ASSERT_EQ(end(&ended), CUDA_SUCCESS);
  EXPECT_EQ(ended, graph);
  CUgraphNode found = nullptr;
  count = 1;
  EXPECT_EQ(symbol<CUresult(CUgraph, CUgraphNode*, std::size_t*)>("cuGraphGetNodes")(graph, &found,
                                                                                     &count),
            CUDA_SUCCESS);
  EXPECT_EQ(found, node);

  ASSERT_EQ(begin(), CUDA_SUCCESS);
  EXPECT_EQ(id_of(&second), CUDA_SUCCESS);
  EXPECT_NE(second, first);
  EXPECT_EQ(end(&ended), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemUnmap{m.address, m.size}), CUDA_SUCCESS);
}

// An event that a capture recorded ends for good: a program that records such events again and
// again needs no more memory. (Sanitizers count no bytes here.)
TEST_F(CaptureTest, ADestroyedEventLeavesNothing) {
  const auto record = [&] {
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
    ASSERT_EQ(begin(), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::EventRecord{event, stream_}), CUDA_SUCCESS);
    ASSERT_EQ(end(&graph), CUDA_SUCCESS);
    ASSERT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::EventDestroy{event}), CUDA_SUCCESS);
  };
  constexpr int kTimes = 2000;
  for (int i = 0; i < kTimes; ++i) record();
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < kTimes; ++i) record();
  EXPECT_LT(mallinfo2().uordblks, before + kTimes * sizeof(void*));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
