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
    ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 1));
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
    EXPECT_OK(end(&graph));
    auto* instantiate =
        symbol<CUresult(CUgraphExec*, CUgraph, unsigned long long)>("cuGraphInstantiateWithFlags");
    EXPECT_OK(instantiate(&executable, graph, 0));
    EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
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
    EXPECT_OK(driver()(calls::MemcpyDtoH{&byte, address, 1}));
    return byte;
  }

  CUstream stream_ = nullptr;
  int calls_made_ = 0;
};

TEST_F(CaptureTest, CapturedWorkIsDoneAtEachLaunch) {
  const Mapped m = mapped();
  ASSERT_OK(driver()(calls::MemsetD8{m.address, 1, 16}));
  ASSERT_OK(begin());
  ASSERT_OK(driver()(calls::MemsetD8Async{m.address, 7, 1, stream_}));
  ASSERT_OK(driver()(calls::MemcpyDtoDAsync{m.address + 8, m.address, 1, stream_}));
  CUgraphExec executable = made();
  EXPECT_EQ(byte_at(m.address), 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(driver()(calls::MemsetD8{m.address, 1, 16}));
    ASSERT_OK(launch(executable));
    EXPECT_EQ(byte_at(m.address), 7);
    EXPECT_EQ(byte_at(m.address + 8), 7);
  }
  EXPECT_EQ(driver()(calls::MemUnmap{m.address, m.size}), CUDA_SUCCESS);
  {
    const OwnContext own;
    EXPECT_EQ(launch(executable), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::CtxSynchronize{}), CUDA_ERROR_LAUNCH_FAILED);
  }
  auto* destroy_it = symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy");
  EXPECT_OK(destroy_it(executable));
  EXPECT_EQ(destroy_it(executable), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(executable), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CaptureTest, MemoryOfNodesIsThereFromTheLaunchOn) {
  const Mapped m = mapped();
  CUdeviceptr memory = 0;
  ASSERT_OK(begin());
  ASSERT_OK(driver()(calls::MemAllocAsync{&memory, 4096, stream_}));
  ASSERT_OK(driver()(calls::MemsetD8Async{memory, 9, 4096, stream_}));
  ASSERT_OK(driver()(calls::MemcpyDtoDAsync{m.address, memory + 4095, 1, stream_}));
  EXPECT_EQ(driver()(calls::MemcpyDtoDAsync{m.address, memory + 4096, 1, stream_}),
            CUDA_ERROR_INVALID_VALUE);
  CUgraphExec executable = made();
  EXPECT_EQ(driver()(calls::MemsetD8{memory, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(launch(executable));
  EXPECT_EQ(byte_at(m.address), 9);
  EXPECT_EQ(byte_at(memory), 9);
  // The memory of the first launch is not freed yet.
  EXPECT_EQ(launch(executable), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, nullptr}));
  EXPECT_OK(launch(executable));
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, nullptr}));
}

// As an H100 does, also before the first graph is launched.
TEST_F(CaptureTest, AnotherGraphFreesTheMemory) {
  CUdeviceptr memory = 0;
  ASSERT_OK(begin());
  ASSERT_OK(driver()(calls::MemAllocAsync{&memory, 4096, stream_}));
  CUgraphExec allocates = made();
  ASSERT_OK(begin());
  EXPECT_OK(driver()(calls::MemsetD8Async{memory, 9, 4096, stream_}));
  EXPECT_OK(driver()(calls::MemFreeAsync{memory, stream_}));
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, stream_}), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec frees = made();
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(launch(allocates));
    EXPECT_OK(launch(frees));
  }
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, nullptr}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CaptureTest, HostFunctionsRunAtTheLaunch) {
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  ASSERT_OK(begin());
  auto* call = symbol<CUresult(CUstream, CUhostFn, void*)>("cuLaunchHostFunc");
  ASSERT_OK(call(stream_, count, &calls_made_));
  CUgraphExec executable = made();
  EXPECT_EQ(calls_made_, 0);
  EXPECT_OK(launch(executable));
  EXPECT_OK(driver()(calls::CtxSynchronize{}));
  EXPECT_EQ(calls_made_, 1);
}

TEST_F(CaptureTest, AKernelIsANodeAndSkippedAtTheLaunch) {
  auto* kernel = symbol<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, CUstream, void**, void**)>("cuLaunchKernel");
  const auto function = reinterpret_cast<CUfunction>(&calls_made_);
  ASSERT_OK(begin());
  const std::string early = stderr_of(
      [&] { EXPECT_OK(kernel(function, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr)); });
  EXPECT_EQ(early, "");
  CUgraphExec executable = made();
  // Only the first skipped launch is reported on stderr.
  stderr_of([&] { EXPECT_OK(launch(executable)); });
}

TEST_F(CaptureTest, WorkOfAnotherStreamHasToBeJoined) {
  CUstream other = nullptr;
  CUevent event = nullptr;
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&other, 1));
  ASSERT_OK(driver()(calls::EventCreate{&event, 0}));
  for (const bool join : {false, true}) {
    CUdeviceptr memory = 0;
    CUgraph graph = nullptr;
    ASSERT_OK(begin());
    ASSERT_OK(driver()(calls::EventRecord{event, stream_}));
    ASSERT_OK(wait(other, event, 0));
    ASSERT_OK(driver()(calls::MemAllocAsync{&memory, 4096, other}));
    if (join) {
      ASSERT_OK(driver()(calls::EventRecord{event, other}));
      ASSERT_OK(wait(stream_, event, 0));
    }
    EXPECT_EQ(end(&graph), join ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_OK(driver()(calls::MemAllocAsync{&memory, 4096, other}));
    EXPECT_OK(driver()(calls::MemFreeAsync{memory, other}));
  }
  EXPECT_OK(destroy(other));
}

// Only work before the record of an event is joined by a wait for the event.
TEST_F(CaptureTest, WorkBehindTheEventIsNotJoined) {
  CUstream other = nullptr, third = nullptr;
  CUevent event = nullptr;
  auto* create = symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate");
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_OK(create(&other, 1));
  ASSERT_OK(create(&third, 1));
  ASSERT_OK(driver()(calls::EventCreate{&event, 0}));
  const Mapped m = mapped();
  const auto fill = [&](CUstream stream) {
    EXPECT_OK(driver()(calls::MemsetD8Async{m.address, 1, 1, stream}));
  };
  const auto join = [&](CUstream from, CUstream to) {
    EXPECT_OK(driver()(calls::EventRecord{event, from}));
    EXPECT_OK(wait(to, event, 0));
  };
  CUgraph graph = nullptr;
  ASSERT_OK(begin());
  join(stream_, other);
  EXPECT_OK(driver()(calls::EventRecord{event, other}));
  fill(other);
  EXPECT_OK(wait(stream_, event, 0));
  EXPECT_EQ(end(&graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

  // A stream that waits for another one has to be joined itself.
  for (const bool joined : {false, true}) {
    ASSERT_OK(begin());
    join(stream_, other);
    fill(other);
    join(other, third);
    if (joined) join(third, stream_);
    EXPECT_EQ(end(&graph), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  }
  EXPECT_OK(destroy(other));
  EXPECT_OK(destroy(third));
  testing::end(m);
}

// An H100: the work of a destroyed stream stays in the capture, and has to be joined.
TEST_F(CaptureTest, GoesOnWhenAStreamThatJoinedIsDestroyed) {
  enum class Work { kNone, kLeft, kJoinedBefore, kJoinedBehind };
  CUevent event = nullptr;
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_OK(driver()(calls::EventCreate{&event, 0}));
  const Mapped m = mapped();
  for (const Work work : {Work::kNone, Work::kLeft, Work::kJoinedBefore, Work::kJoinedBehind}) {
    CUstream other = nullptr;
    CUgraph graph = nullptr;
    ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&other, 1));
    ASSERT_OK(begin());
    ASSERT_OK(driver()(calls::EventRecord{event, stream_}));
    ASSERT_OK(wait(other, event, 0));
    if (work != Work::kNone) {
      ASSERT_OK(driver()(calls::MemsetD8Async{m.address, 1, 1, other}));
      ASSERT_OK(driver()(calls::EventRecord{event, other}));
    }
    if (work == Work::kJoinedBefore) {
      ASSERT_OK(wait(stream_, event, 0));
    }
    EXPECT_OK(destroy(other));
    if (work == Work::kJoinedBehind) {
      EXPECT_OK(wait(stream_, event, 0));
    }
    EXPECT_OK(driver()(calls::MemsetD8Async{m.address, 2, 1, stream_}));
    EXPECT_EQ(end(&graph), work == Work::kLeft ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED : CUDA_SUCCESS);
  }
  testing::end(m);
}

TEST_F(CaptureTest, EdgesSayWhatTheStreamsWaitFor) {
  const Mapped m = mapped();
  CUstream other = nullptr;
  CUevent event = nullptr;
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&other, 1));
  ASSERT_OK(driver()(calls::EventCreate{&event, 0}));
  const auto fill = [&](CUstream stream) {
    EXPECT_OK(driver()(calls::MemsetD8Async{m.address, 1, 1, stream}));
  };
  const auto join = [&](CUstream from, CUstream to) {
    EXPECT_OK(driver()(calls::EventRecord{event, from}));
    EXPECT_OK(wait(to, event, 0));
  };
  ASSERT_OK(begin());
  fill(stream_);  // node 0
  join(stream_, other);
  fill(other);    // node 1, after 0
  fill(stream_);  // node 2, after 0
  join(other, stream_);
  fill(stream_);  // node 3, after 1 and 2
  CUgraph graph = nullptr;
  ASSERT_OK(end(&graph));
  CUgraphNode nodes[4] = {}, from[5] = {}, to[5] = {};
  size_t count = 4;
  auto* get_nodes = symbol<CUresult(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetNodes");
  ASSERT_OK(get_nodes(graph, nodes, &count));
  ASSERT_EQ(count, 4u);
  count = 5;
  auto* get_edges =
      symbol<CUresult(CUgraph, CUgraphNode*, CUgraphNode*, size_t*)>("cuGraphGetEdges");
  ASSERT_OK(get_edges(graph, from, to, &count));
  std::set<std::pair<CUgraphNode, CUgraphNode>> edges;
  for (size_t i = 0; i < count; ++i) edges.insert({from[i], to[i]});
  const decltype(edges) expected = {
      {nodes[0], nodes[1]}, {nodes[0], nodes[2]}, {nodes[1], nodes[3]}, {nodes[2], nodes[3]}};
  EXPECT_EQ(edges, expected);
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
  EXPECT_OK(destroy(other));
  testing::end(m);
}

TEST_F(CaptureTest, ACaptureEndsWithItsStream) {
  ASSERT_OK(begin());
  EXPECT_OK(destroy(stream_));
  EXPECT_OK(allocate());
  CUgraph graph = nullptr;
  // The documented answer about a handle that is not valid. An H100 (580.159.04) dies of this call.
  EXPECT_EQ(end(&graph), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CaptureTest, ACaptureEndsWithItsContext) {
  ASSERT_OK(destroy(stream_));
  CUcontext context = nullptr;
  ASSERT_OK(symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context, 0, 0));
  ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 1));
  ASSERT_OK(begin());
  EXPECT_OK(symbol<CUresult(CUcontext)>("cuCtxDestroy_v2")(context));
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
  EXPECT_OK(allocate());
}

TEST_F(CaptureTest, EachThreadHasItsOwnPerThreadStream) {
  ASSERT_OK(destroy(stream_));
  stream_ = CU_STREAM_PER_THREAD;
  ASSERT_OK(begin());
  CUstreamCaptureStatus own{}, other = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  auto* ask = symbol<CUresult(CUstream, CUstreamCaptureStatus*)>("cuStreamIsCapturing");
  EXPECT_OK(ask(CU_STREAM_PER_THREAD, &own));
  std::thread([&] {
    EXPECT_OK(driver()(calls::CtxSetCurrent{context_}));
    EXPECT_OK(ask(CU_STREAM_PER_THREAD, &other));
  }).join();
  EXPECT_EQ(own, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(other, CU_STREAM_CAPTURE_STATUS_NONE);
  CUgraph graph = nullptr;
  EXPECT_OK(end(&graph));
  EXPECT_OK(allocate());
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
  EXPECT_OK(id_of(&first));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(first, 0u) << "without a capture, nothing but the status is written";
  EXPECT_EQ(ask(stream_, nullptr, &first, nullptr, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);

  const Mapped m = mapped();
  ASSERT_OK(begin());
  CUgraph graph = nullptr, ended = nullptr;
  const CUgraphNode* dependencies = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 9;
  ASSERT_OK(ask(stream_, &status, &first, &graph, &dependencies, &edges, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(count, 0u);
  ASSERT_OK(driver()(calls::MemsetD8Async{m.address, 7, 1, stream_}));
  ASSERT_OK(ask(stream_, &status, &first, &graph, &dependencies, &edges, &count));
  ASSERT_EQ(count, 1u);
  CUgraphNode node = dependencies[0];
  ASSERT_OK(end(&ended));
  EXPECT_EQ(ended, graph);
  CUgraphNode found = nullptr;
  count = 1;
  EXPECT_OK(symbol<CUresult(CUgraph, CUgraphNode*, std::size_t*)>("cuGraphGetNodes")(graph, &found,
                                                                                     &count));
  EXPECT_EQ(found, node);

  ASSERT_OK(begin());
  EXPECT_OK(id_of(&second));
  EXPECT_NE(second, first);
  EXPECT_OK(end(&ended));
  EXPECT_OK(driver()(calls::MemUnmap{m.address, m.size}));
}

// An event that a capture recorded ends for good: a program that records such events again and
// again needs no more memory. (Sanitizers count no bytes here.)
TEST_F(CaptureTest, ADestroyedEventLeavesNothing) {
  const auto record = [&] {
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    ASSERT_OK(driver()(calls::EventCreate{&event, 0}));
    ASSERT_OK(begin());
    ASSERT_OK(driver()(calls::EventRecord{event, stream_}));
    ASSERT_OK(end(&graph));
    ASSERT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
    ASSERT_OK(driver()(calls::EventDestroy{event}));
  };
  constexpr int kTimes = 2000;
  for (int i = 0; i < kTimes; ++i) record();
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < kTimes; ++i) record();
  EXPECT_LT(mallinfo2().uordblks, before + kTimes * sizeof(void*));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
