// SPDX-License-Identifier: Apache-2.0
// Nodes of events and of memory operations, user objects, and captures into a graph.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "emulator/graph/nodes/testing_one_graph.h"

namespace cuvmm::emulator::testing {
namespace {

class FurtherNodes : public OneGraphTest {
 protected:
  void SetUp() override {
    OneGraphTest::SetUp();
    ASSERT_EQ(driver()(calls::MemsetD8{memory_, 0, 4096}), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::StreamCreate{&stream_, CU_STREAM_NON_BLOCKING}), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(driver()(calls::StreamDestroy{stream_}), CUDA_SUCCESS);
    OneGraphTest::TearDown();
  }
  static void run(CUgraph graph) {
    CUgraphExec executable = nullptr;
    ASSERT_EQ(driver()(calls::GraphInstantiateWithFlags{&executable, graph, 0}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::GraphLaunch{executable, nullptr}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::GraphExecDestroy{executable}), CUDA_SUCCESS);
  }
  unsigned word() const {
    unsigned value = 0;
    EXPECT_EQ(driver()(calls::MemcpyDtoH{&value, memory_, sizeof value}), CUDA_SUCCESS);
    return value;
  }
  static size_t nodes_of(CUgraph graph) {
    size_t count = 0;
    auto* get = symbol<CUresult(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetNodes");
    EXPECT_EQ(get(graph, nullptr, &count), CUDA_SUCCESS);
    return count;
  }
  static void CUDA_CB count(void* counter) { ++*static_cast<int*>(counter); }

  CUstream stream_ = nullptr;
};

TEST_F(FurtherNodes, AnEventIsRecordedAtTheLaunch) {
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
  CUevent event = nullptr, other = nullptr;
  CUgraphNode record = nullptr, wait = nullptr;
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventCreate{&other, 0}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventRecord{other, nullptr}), CUDA_SUCCESS);
  ASSERT_EQ(symbol<Add>("cuGraphAddEventRecordNode")(&record, graph_, nullptr, 0, event),
            CUDA_SUCCESS);
  ASSERT_EQ(symbol<Add>("cuGraphAddEventWaitNode")(&wait, graph_, &record, 1, event), CUDA_SUCCESS);
  float ms = -1;
  EXPECT_EQ(driver()(calls::EventElapsedTime{&ms, other, event}), CUDA_ERROR_INVALID_HANDLE);
  run(graph_);
  EXPECT_EQ(driver()(calls::EventElapsedTime{&ms, other, event}), CUDA_SUCCESS);
  for (CUevent each : {event, other}) EXPECT_EQ(driver()(calls::EventDestroy{each}), CUDA_SUCCESS);
}

TEST_F(FurtherNodes, ABatchOfOperationsIsDoneAtTheLaunch) {
  CUstreamBatchMemOpParams operation{};
  operation.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = memory_;
  operation.writeValue.value = 7;
  const CUDA_BATCH_MEM_OP_NODE_PARAMS batch{context_, 1, &operation, 0};
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                       const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
  CUgraphNode node = nullptr;
  ASSERT_EQ(symbol<Add>("cuGraphAddBatchMemOpNode")(&node, graph_, nullptr, 0, &batch),
            CUDA_SUCCESS);
  operation.writeValue.value = 8;  // the node has a copy
  EXPECT_EQ(word(), 0u);
  run(graph_);
  EXPECT_EQ(word(), 7u);
}

TEST_F(FurtherNodes, AUserObjectEndsWithItsLastReference) {
  int ended = 0;
  CUuserObject object = nullptr;
  using Create = CUresult(CUuserObject*, void*, CUhostFn, unsigned, unsigned);
  auto* create = symbol<Create>("cuUserObjectCreate");
  EXPECT_EQ(create(&object, &ended, count, 1, 0), CUDA_ERROR_INVALID_VALUE) << "the flag is due";
  ASSERT_EQ(create(&object, &ended, count, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_SUCCESS);
  auto* retain =
      symbol<CUresult(CUgraph, CUuserObject, unsigned, unsigned)>("cuGraphRetainUserObject");
  auto* release = symbol<CUresult(CUuserObject, unsigned)>("cuUserObjectRelease");
  CUgraph owner = made();
  ASSERT_EQ(retain(owner, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
  EXPECT_EQ(release(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(ended, 0);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver()(calls::GraphInstantiateWithFlags{&executable, owner, 0}), CUDA_SUCCESS);
  EXPECT_EQ(destroy(owner), CUDA_SUCCESS);
  EXPECT_EQ(ended, 0) << "the executable graph has a reference";
  EXPECT_EQ(driver()(calls::GraphExecDestroy{executable}), CUDA_SUCCESS);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(release(object, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FurtherNodes, ACaptureAddsToAGraph) {
  CUgraphNode first = nullptr;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
  ASSERT_EQ(symbol<Add>("cuGraphAddEmptyNode")(&first, graph_, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::StreamBeginCaptureToGraph{stream_, graph_, &first, nullptr, 1,
                                                      CU_STREAM_CAPTURE_MODE_RELAXED}),
            CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemsetD8Async{memory_, 1, 4, stream_}), CUDA_SUCCESS);
  CUgraph answer = nullptr;
  ASSERT_EQ(driver()(calls::StreamEndCapture{stream_, &answer}), CUDA_SUCCESS);
  EXPECT_EQ(answer, graph_);
  EXPECT_EQ(nodes_of(graph_), 2u);
  size_t roots = 0;
  auto* get = symbol<CUresult(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetRootNodes");
  ASSERT_EQ(get(graph_, nullptr, &roots), CUDA_SUCCESS);
  EXPECT_EQ(roots, 1u);
  run(graph_);
  EXPECT_EQ(word(), 0x01010101u);
}

// As an H100 answers, like the next tests.
TEST_F(FurtherNodes, EventsOfNodesAreReadAndReplaced) {
  CUevent first = nullptr, second = nullptr, answer = nullptr;
  ASSERT_EQ(driver()(calls::EventCreate{&first, CU_EVENT_DISABLE_TIMING}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventCreate{&second, CU_EVENT_DISABLE_TIMING}), CUDA_SUCCESS);
  CUgraphNode record = nullptr, wait = nullptr;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
  ASSERT_EQ(symbol<Add>("cuGraphAddEventRecordNode")(&record, graph_, nullptr, 0, first),
            CUDA_SUCCESS);
  ASSERT_EQ(symbol<Add>("cuGraphAddEventWaitNode")(&wait, graph_, &record, 1, first), CUDA_SUCCESS);
  auto* get = symbol<CUresult(CUgraphNode, CUevent*)>("cuGraphEventRecordNodeGetEvent");
  auto* set = symbol<CUresult(CUgraphNode, CUevent)>("cuGraphEventRecordNodeSetEvent");
  EXPECT_EQ(get(wait, &answer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(wait, second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(record, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(set(record, second), CUDA_SUCCESS);
  ASSERT_EQ(get(record, &answer), CUDA_SUCCESS);
  EXPECT_EQ(answer, second);
  EXPECT_EQ(symbol<CUresult(CUgraphNode, CUevent)>("cuGraphEventWaitNodeSetEvent")(wait, second),
            CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  ASSERT_EQ(driver()(calls::GraphInstantiateWithFlags{&made, graph_, 0}), CUDA_SUCCESS);
  auto* change =
      symbol<CUresult(CUgraphExec, CUgraphNode, CUevent)>("cuGraphExecEventRecordNodeSetEvent");
  EXPECT_EQ(change(made, wait, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(change(made, record, first), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::GraphExecDestroy{made}), CUDA_SUCCESS);
}

TEST_F(FurtherNodes, OperationsOfABatchNodeAreReadAndReplaced) {
  CUstreamBatchMemOpParams words[2]{};
  for (unsigned i = 0; i < 2; ++i) {
    words[i].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    words[i].writeValue.address = memory_ + 4 * i;
    words[i].writeValue.value = 7 + i;
  }
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch{context_, 1, words, 0}, answer{};
  CUgraphNode node = nullptr;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                       const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
  ASSERT_EQ(symbol<Add>("cuGraphAddBatchMemOpNode")(&node, graph_, nullptr, 0, &batch),
            CUDA_SUCCESS);
  auto* get = symbol<CUresult(CUgraphNode, CUDA_BATCH_MEM_OP_NODE_PARAMS*)>(
      "cuGraphBatchMemOpNodeGetParams");
  auto* set = symbol<CUresult(CUgraphNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS*)>(
      "cuGraphBatchMemOpNodeSetParams");
  batch.count = 2;
  ASSERT_EQ(set(node, &batch), CUDA_SUCCESS);
  ASSERT_EQ(get(node, &answer), CUDA_SUCCESS);
  EXPECT_EQ(answer.ctx, context_);
  ASSERT_EQ(answer.count, 2u);
  EXPECT_NE(answer.paramArray, words);
  EXPECT_EQ(answer.paramArray[1].writeValue.value, 8u);
  words[0].writeValue.address = memory_ + 2;
  EXPECT_EQ(set(node, &batch), CUDA_ERROR_INVALID_VALUE);
  words[0].writeValue.address = memory_;
  batch.count = 0;
  EXPECT_EQ(set(node, &batch), CUDA_SUCCESS);
  CUgraphNode other = nullptr;
  EXPECT_EQ(symbol<Add>("cuGraphAddBatchMemOpNode")(&other, graph_, nullptr, 0, &batch),
            CUDA_ERROR_INVALID_VALUE);
  const CUDA_BATCH_MEM_OP_NODE_PARAMS none{context_, 0, nullptr, 0};
  EXPECT_EQ(symbol<Add>("cuGraphAddBatchMemOpNode")(&other, graph_, nullptr, 0, &none),
            CUDA_SUCCESS);
  run(graph_);
  EXPECT_NE(word(), 7u) << "the node has no operation left";
  batch.count = 1;
  EXPECT_EQ(set(node, &batch), CUDA_SUCCESS);
  run(graph_);
  EXPECT_EQ(word(), 7u);
}

TEST_F(FurtherNodes, AProgramSaysWhatCapturedWorkDependsOn) {
  using Update = CUresult(CUstream, CUgraphNode*, const CUgraphEdgeData*, size_t, unsigned);
  auto* update = symbol<Update>("cuStreamUpdateCaptureDependencies_v2");
  EXPECT_EQ(update(stream_, nullptr, nullptr, 0, 1), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(driver()(calls::StreamBeginCapture{stream_, CU_STREAM_CAPTURE_MODE_RELAXED}),
            CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemsetD8Async{memory_, 1, 4, stream_}), CUDA_SUCCESS);
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  const CUgraphNode* on = nullptr;
  size_t count = 0;
  using Tell = CUresult(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                        const CUgraphNode**, size_t*);
  const auto counted = [&] {
    EXPECT_EQ(
        symbol<Tell>("cuStreamGetCaptureInfo_v2")(stream_, &status, nullptr, &graph, &on, &count),
        CUDA_SUCCESS);
    return count;
  };
  ASSERT_EQ(counted(), 1u);
  CUgraphNode own = nullptr, alien = nullptr;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
  ASSERT_EQ(symbol<Add>("cuGraphAddEmptyNode")(&own, graph, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(symbol<Add>("cuGraphAddEmptyNode")(&alien, graph_, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(update(stream_, &own, nullptr, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES), CUDA_SUCCESS);
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(update(stream_, &own, nullptr, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES), CUDA_SUCCESS);
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(update(stream_, &alien, nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(update(stream_, &own, nullptr, 1, 7), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(update(stream_, nullptr, nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(update(stream_, nullptr, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES), CUDA_SUCCESS);
  EXPECT_EQ(counted(), 0u);
  ASSERT_EQ(driver()(calls::MemsetD8Async{memory_, 1, 4, stream_}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::StreamEndCapture{stream_, &graph}), CUDA_SUCCESS);
  size_t roots = 0;
  auto* get = symbol<CUresult(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetRootNodes");
  ASSERT_EQ(get(graph, nullptr, &roots), CUDA_SUCCESS);
  EXPECT_EQ(roots, 3u) << "nothing orders the three";
}

TEST_F(FurtherNodes, AGraphIsDrawn) {
  CUgraphNode first = nullptr, second = nullptr;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
  ASSERT_EQ(symbol<Add>("cuGraphAddEmptyNode")(&first, graph_, nullptr, 0), CUDA_SUCCESS);
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = memory_;
  fill.value = 7;
  fill.elementSize = 4;
  fill.width = 8;
  fill.height = 1;
  using AddFill = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                           const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
  ASSERT_EQ(symbol<AddFill>("cuGraphAddMemsetNode")(&second, graph_, &first, 1, &fill, context_),
            CUDA_SUCCESS);
  auto* draw = symbol<CUresult(CUgraph, const char*, unsigned)>("cuGraphDebugDotPrint");
  EXPECT_EQ(draw(graph_, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(draw(nullptr, "x", 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(draw(graph_, "/nosuch/graph.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
  char path[] = "/tmp/cuvmm-graph-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  ASSERT_EQ(draw(graph_, path, 0), CUDA_SUCCESS);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  unlink(path);
  EXPECT_TRUE(text.starts_with("digraph dot {\n")) << text;
  EXPECT_NE(text.find("label=\"1\nMEMSET\n(7,32)\n\"]"), text.npos) << text;
  EXPECT_NE(text.find("_node_0\" -> \"graph_"), text.npos) << text;
}

TEST_F(FurtherNodes, AGraphWhoseCaptureBecameInvalidTakesNoOther) {
  const auto begin = [&] {
    return driver()(calls::StreamBeginCaptureToGraph{stream_, graph_, nullptr, nullptr, 0,
                                                     CU_STREAM_CAPTURE_MODE_RELAXED});
  };
  ASSERT_EQ(begin(), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::StreamSynchronize{stream_}), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph answer = nullptr;
  ASSERT_EQ(driver()(calls::StreamEndCapture{stream_, &answer}),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(begin(), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph_, 0), CUDA_SUCCESS)
      << "the old one stays broken";
}

TEST_F(FurtherNodes, AnInvalidCaptureRefusesFurtherCalls) {
  CUevent event = nullptr, lost = nullptr;
  ASSERT_EQ(driver()(calls::EventCreate{&event, CU_EVENT_DISABLE_TIMING}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventCreate{&lost, CU_EVENT_DISABLE_TIMING}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::StreamBeginCapture{stream_, CU_STREAM_CAPTURE_MODE_RELAXED}),
            CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventRecord{event, stream_}), CUDA_SUCCESS);
  const auto callback = [](CUstream, CUresult, void*) {};
  EXPECT_EQ(driver()(calls::StreamAddCallback{stream_, callback, nullptr, 0}),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(driver()(calls::EventRecord{lost, stream_}), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver()(calls::EventQuery{event}), CUDA_ERROR_INVALID_VALUE);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver()(calls::StreamEndCapture{stream_, &graph}),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver()(calls::EventQuery{event}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::EventQuery{lost}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::EventRecord{event, stream_}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::EventQuery{event}), CUDA_SUCCESS) << "it was recorded anew";
  for (CUevent each : {event, lost}) EXPECT_EQ(driver()(calls::EventDestroy{each}), CUDA_SUCCESS);
}

// On an H100, a captured wait with CU_EVENT_WAIT_EXTERNAL needs no record of its event in the
// capture. A record with CU_EVENT_RECORD_EXTERNAL leaves the event's captured record in force until
// a launch.
TEST_F(FurtherNodes, AnEventOutsideTheCaptureBecomesANode) {
  CUevent event = nullptr, outside = nullptr;
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventCreate{&outside, 0}), CUDA_SUCCESS);
  const auto wait = [&](CUevent on, unsigned flags) {
    return driver()(calls::StreamWaitEvent{stream_, on, flags});
  };
  EXPECT_EQ(wait(outside, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE) << "no capture";
  ASSERT_EQ(driver()(calls::StreamBeginCapture{stream_, CU_STREAM_CAPTURE_MODE_RELAXED}),
            CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::EventRecord{event, stream_}), CUDA_SUCCESS);
  EXPECT_EQ(wait(outside, CU_EVENT_WAIT_EXTERNAL), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::EventRecordWithFlags{event, stream_, CU_EVENT_RECORD_EXTERNAL}),
            CUDA_SUCCESS);
  EXPECT_EQ(wait(event, 0), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver()(calls::StreamEndCapture{stream_, &graph}), CUDA_SUCCESS);
  EXPECT_EQ(nodes_of(graph), 2u);
  EXPECT_EQ(driver()(calls::EventQuery{event}), CUDA_ERROR_INVALID_VALUE);
  run(graph);
  EXPECT_EQ(driver()(calls::EventQuery{event}), CUDA_SUCCESS);

  ASSERT_EQ(driver()(calls::StreamBeginCapture{stream_, CU_STREAM_CAPTURE_MODE_RELAXED}),
            CUDA_SUCCESS);
  EXPECT_EQ(wait(outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(wait(outside, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver()(calls::EventRecordWithFlags{event, stream_, CU_EVENT_RECORD_EXTERNAL}),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver()(calls::StreamEndCapture{stream_, &graph}),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  for (CUevent each : {event, outside})
    EXPECT_EQ(driver()(calls::EventDestroy{each}), CUDA_SUCCESS);
}

TEST_F(FurtherNodes, EventsAndWritesTakeTheFlagsThatADriverTakes) {
  CUevent event = nullptr;
  EXPECT_EQ(driver()(calls::EventCreate{&event, CU_EVENT_INTERPROCESS}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::EventRecordWithFlags{event, stream_, CU_EVENT_RECORD_EXTERNAL}),
            CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(driver()(calls::EventDestroy{event}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamWriteValue32{stream_, memory_, 1,
                                               CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::StreamWriteValue32{stream_, memory_, 1, 0}), CUDA_SUCCESS);
}

TEST_F(FurtherNodes, StreamsHaveIdentitiesAndAttributes) {
  unsigned long long own = 0, legacy = 0, null = 0;
  auto* id = symbol<CUresult(CUstream, unsigned long long*)>("cuStreamGetId");
  ASSERT_EQ(id(stream_, &own), CUDA_SUCCESS);
  ASSERT_EQ(id(nullptr, &null), CUDA_SUCCESS);
  ASSERT_EQ(id(CU_STREAM_LEGACY, &legacy), CUDA_SUCCESS);
  EXPECT_EQ(legacy, 7u);
  EXPECT_EQ(null, legacy);
  EXPECT_GT(own, legacy);
  CUstreamAttrValue value{};
  constexpr auto kPolicy = static_cast<CUstreamAttrID>(3);
  using Set = CUresult(CUstream, CUstreamAttrID, const CUstreamAttrValue*);
  using Get = CUresult(CUstream, CUstreamAttrID, CUstreamAttrValue*);
  value.syncPolicy = static_cast<CUsynchronizationPolicy>(5);
  EXPECT_EQ(symbol<Set>("cuStreamSetAttribute")(stream_, kPolicy, &value),
            CUDA_ERROR_INVALID_VALUE);
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  ASSERT_EQ(symbol<Set>("cuStreamSetAttribute")(stream_, kPolicy, &value), CUDA_SUCCESS);
  value = {};
  ASSERT_EQ(symbol<Get>("cuStreamGetAttribute")(stream_, kPolicy, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.syncPolicy, CU_SYNC_POLICY_YIELD);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
