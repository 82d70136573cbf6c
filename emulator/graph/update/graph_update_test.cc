// SPDX-License-Identifier: Apache-2.0
// An executable graph takes over another graph's parameters, or the call reports why it cannot.
#include <utility>

#include "emulator/graph/nodes/testing_graph.h"

namespace cuvmm::emulator::testing {
namespace {

struct GraphUpdateTest : GraphNodesTest {
  void SetUp() override {
    GraphNodesTest::SetUp();
    other_ = made();
  }
  void TearDown() override {
    EXPECT_EQ(destroy(other_), CUDA_SUCCESS);
    GraphNodesTest::TearDown();
  }
  CUgraphExecUpdateResultInfo refused(CUgraphExec executable, CUgraph graph) const {
    CUgraphExecUpdateResultInfo info{};
    EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{executable, graph, &info}),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    return info;
  }
  CUgraphExecUpdateResultInfo refused() { return refused(instantiate(graph_), other_); }
  CUgraphNode child(CUgraph graph, CUgraph inner) {
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUgraph);
    CUgraphNode node = nullptr;
    EXPECT_EQ(symbol<Add>("cuGraphAddChildGraphNode")(&node, graph, nullptr, 0, inner),
              CUDA_SUCCESS);
    return node;
  }
  CUgraph other_ = nullptr;
};

TEST_F(GraphUpdateTest, ParametersAreTakenOver) {
  kernel(graph_, 2, {fill(graph_, memory_, 4, 1)});
  CUgraphExec executable = instantiate(graph_);
  EXPECT_EQ(after(executable), 2u);
  kernel(other_, 5, {fill(other_, memory_ + 16, 8, 1)});
  CUgraphExecUpdateResultInfo info{CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  ASSERT_EQ(driver()(calls::GraphExecUpdate_v2{executable, other_, &info}), CUDA_SUCCESS);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_EQ(after(executable), 5u);
  unsigned char filled = 0;
  EXPECT_EQ(driver()(calls::MemcpyDtoH{&filled, memory_ + 23, 1}), CUDA_SUCCESS);
  EXPECT_EQ(filled, 3);
  // The executable graph still names nodes by those of the graph that it was instantiated from, and
  // can change again.
  CUgraphNode nodes[2];
  std::size_t count = 2;
  auto* all = symbol<CUresult(CUgraph, CUgraphNode*, std::size_t*)>("cuGraphGetNodes");
  ASSERT_EQ(all(graph_, nodes, &count), CUDA_SUCCESS);
  const CUDA_KERNEL_NODE_PARAMS_v2 params = store(6);
  EXPECT_EQ(driver()(calls::GraphExecKernelNodeSetParams{executable, nodes[1], &params}),
            CUDA_SUCCESS);
  EXPECT_EQ(after(executable), 6u);
  ASSERT_EQ(driver()(calls::GraphExecUpdate_v2{executable, graph_, &info}), CUDA_SUCCESS);
  EXPECT_EQ(after(executable), 2u);
}

// An H100 refuses another direction.
TEST_F(GraphUpdateTest, ACopyKeepsItsDirection) {
  unsigned char host[32] = {};
  CUDA_MEMCPY3D in{};
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = host;
  in.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  in.dstDevice = memory_;
  in.WidthInBytes = 16;
  in.Height = in.Depth = 1;
  CUDA_MEMCPY3D out = in;
  std::swap(out.srcMemoryType, out.dstMemoryType);
  out.srcDevice = memory_;
  out.dstHost = host;
  CUgraphNode node = nullptr;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_MEMCPY3D*,
                       CUcontext);
  ASSERT_EQ(symbol<Add>("cuGraphAddMemcpyNode")(&node, graph_, nullptr, 0, &in, context_),
            CUDA_SUCCESS);
  CUgraphExec executable = instantiate(graph_);
  const auto changed = [&](const CUDA_MEMCPY3D& copy) {
    return driver()(calls::GraphExecMemcpyNodeSetParams{executable, node, &copy, context_});
  };
  EXPECT_EQ(changed(out), CUDA_ERROR_INVALID_VALUE);
  in.WidthInBytes = 8;
  EXPECT_EQ(changed(in), CUDA_SUCCESS);
}

TEST_F(GraphUpdateTest, TheFirstFormNamesOneNode) {
  kernel(graph_, 1);
  CUgraphNode wrong = fill(other_, memory_, 4, 1);
  CUgraphExec executable = instantiate(graph_);
  CUgraphNode node = nullptr;
  CUgraphExecUpdateResult why{};
  using Update = CUresult(CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*);
  auto* update = symbol<Update>("cuGraphExecUpdate");
  EXPECT_EQ(update(executable, other_, &node, &why), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(node, wrong);
  EXPECT_EQ(why, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(update(executable, graph_, &node, &why), CUDA_SUCCESS);
  EXPECT_EQ(node, nullptr);
  EXPECT_EQ(update(executable, graph_, nullptr, &why), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphUpdateTest, ValuesThatAreNoneAreSaidToBe) {
  CUgraphExec executable = instantiate(graph_);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{executable, nullptr, &info}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
  EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{nullptr, graph_, &info}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{executable, graph_, nullptr}),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphUpdateTest, AnotherFormIsRefusedAndChangesNothing) {
  CUgraphNode first = kernel(graph_, 1);
  kernel(graph_, 2, {first});
  CUgraphExec executable = instantiate(graph_);
  kernel(other_, 3);
  CUgraphExecUpdateResultInfo info = refused(executable, other_);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED) << "one node less";
  EXPECT_EQ(info.errorNode, nullptr);
  CUgraphNode loose = kernel(other_, 4);
  info = refused(executable, other_);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED) << "two ends";
  EXPECT_EQ(info.errorNode, loose);
  EXPECT_EQ(after(executable), 2u);
}

TEST_F(GraphUpdateTest, AnEdgeThatDiffersIsNamed) {
  // a <- b <- d, a <- c <- d: in the other graph, d depends on b twice, and not on c.
  CUgraphNode a = kernel(graph_, 1);
  CUgraphNode b = kernel(graph_, 1, {a});
  CUgraphNode c = kernel(graph_, 1, {a});
  kernel(graph_, 1, {b, c});
  CUgraphNode a2 = kernel(other_, 1);
  CUgraphNode b2 = kernel(other_, 1, {a2});
  CUgraphNode c2 = kernel(other_, 1, {a2, b2});
  CUgraphNode d2 = kernel(other_, 1, {b2, c2});
  const CUgraphExecUpdateResultInfo info = refused();
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, c2);
  EXPECT_NE(info.errorNode, d2);
}

TEST_F(GraphUpdateTest, ADependencyThatIsPairedOtherwiseIsNamed) {
  CUgraphNode a = kernel(graph_, 1), b = kernel(graph_, 1);
  kernel(graph_, 1, {a});
  kernel(graph_, 1, {b});
  CUgraphNode a2 = kernel(other_, 1);
  kernel(other_, 1);
  CUgraphNode c2 = kernel(other_, 1, {a2}), d2 = kernel(other_, 1, {a2});
  const CUgraphExecUpdateResultInfo info = refused();
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  // The isolated node of the other graph is an end there, so that graph has one end more.
  EXPECT_NE(info.errorNode, nullptr);
  EXPECT_TRUE(info.errorNode == d2 || info.errorNode == c2);
}

TEST_F(GraphUpdateTest, NodesMayHaveBeenMadeInAnotherOrder) {
  CUgraphNode first = fill(graph_, memory_, 4, 1);
  kernel(graph_, 2, {first});
  CUgraphNode late = kernel(other_, 7);
  CUgraphNode early = fill(other_, memory_, 4, 1);
  using ChangeEdges = CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*,
                               const CUgraphEdgeData*, std::size_t);
  ASSERT_EQ(symbol<ChangeEdges>("cuGraphAddDependencies_v2")(other_, &early, &late, nullptr, 1),
            CUDA_SUCCESS);
  CUgraphExec executable = instantiate(graph_);
  CUgraphExecUpdateResultInfo info{};
  ASSERT_EQ(driver()(calls::GraphExecUpdate_v2{executable, other_, &info}), CUDA_SUCCESS);
  EXPECT_EQ(after(executable), 7u);
}

TEST_F(GraphUpdateTest, FillsOfSeveralRowsKeepTheirForm) {
  fill(graph_, memory_, 16, 2);
  CUgraphNode wider = fill(other_, memory_, 17, 2);
  const CUgraphExecUpdateResultInfo info = refused();
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
  EXPECT_EQ(info.errorNode, wider);
}

TEST_F(GraphUpdateTest, TheDeviceOfMemoryStays) {
  fill(graph_, memory_, 16, 1);
  CUcontext there = use_device(1);
  CUdeviceptr far = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&far, 4096}), CUDA_SUCCESS);
  std::swap(context_, there);
  CUgraphNode moved = fill(other_, far, 16, 1);
  std::swap(context_, there);
  ASSERT_EQ(driver()(calls::CtxSetCurrent{context_}), CUDA_SUCCESS);
  const CUgraphExecUpdateResultInfo info = refused();
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
  EXPECT_EQ(info.errorNode, moved);
  EXPECT_EQ(driver()(calls::MemFree{far}), CUDA_SUCCESS);
}

TEST_F(GraphUpdateTest, AFunctionOfAnotherContextIsRefused) {
  kernel(graph_, 1);
  use_device(1);
  CUmodule there = load();
  store_ = function(there);
  CUgraphNode moved = kernel(other_, 1);
  ASSERT_EQ(driver()(calls::CtxSetCurrent{context_}), CUDA_SUCCESS);
  store_ = function(module_);
  const CUgraphExecUpdateResultInfo info = refused();
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
  EXPECT_EQ(info.errorNode, moved);
  EXPECT_EQ(symbol<CUresult(CUmodule)>("cuModuleUnload")(there), CUDA_SUCCESS);
}

TEST_F(GraphUpdateTest, SomeAttributesStay) {
  kernel(graph_, 1);
  CUgraphNode node = kernel(other_, 2);
  CUkernelNodeAttrValue value{};
  value.priority = 1;
  using Set = CUresult(CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*);
  auto* set = symbol<Set>("cuGraphKernelNodeSetAttribute");
  ASSERT_EQ(set(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  CUgraphExec plain = instantiate(graph_);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{plain, other_, &info}), CUDA_SUCCESS)
      << "a priority counts only where it was asked for";
  CUgraphExec by_priority = instantiate(graph_, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  info = refused(by_priority, other_);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
  value = {};
  value.cooperative = 1;
  ASSERT_EQ(set(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), CUDA_SUCCESS);
  info = refused(plain, other_);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
  EXPECT_EQ(info.errorNode, node);
}

TEST_F(GraphUpdateTest, ChildrenAreUpdatedToo) {
  CUgraph inner = made(), changed = made(), longer = made();
  kernel(inner, 1);
  kernel(changed, 8);
  kernel(longer, 1, {kernel(longer, 1)});
  CUgraphNode node = child(graph_, inner);
  CUgraphExec executable = instantiate(graph_);
  child(other_, changed);
  CUgraphExecUpdateResultInfo info{};
  ASSERT_EQ(driver()(calls::GraphExecUpdate_v2{executable, other_, &info}), CUDA_SUCCESS);
  EXPECT_EQ(after(executable), 8u);
  ASSERT_EQ(driver()(calls::GraphExecChildGraphNodeSetParams{executable, node, inner}),
            CUDA_SUCCESS);
  EXPECT_EQ(after(executable), 1u);
  EXPECT_EQ(driver()(calls::GraphExecChildGraphNodeSetParams{executable, node, longer}),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(driver()(calls::GraphExecChildGraphNodeSetParams{executable, node, nullptr}),
            CUDA_ERROR_INVALID_VALUE);
  for (CUgraph each : {inner, changed, longer}) EXPECT_EQ(destroy(each), CUDA_SUCCESS);
}

// The answers of an H100's driver (580.159.04) for graphs that allocate and fill, with and without
// a free.
struct GraphMemoryUpdateTest : GraphUpdateTest {
  struct Made {
    CUdeviceptr address = 0;
    CUgraphNode allocation = nullptr, fill = nullptr;
  };
  Made allocates(CUgraph graph, bool frees, std::size_t size = 4096) {
    CUDA_MEM_ALLOC_NODE_PARAMS asked{};
    asked.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    asked.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    asked.bytesize = size;
    using Allocate = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                              CUDA_MEM_ALLOC_NODE_PARAMS*);
    using Free = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUdeviceptr);
    Made made;
    EXPECT_EQ(
        symbol<Allocate>("cuGraphAddMemAllocNode")(&made.allocation, graph, nullptr, 0, &asked),
        CUDA_SUCCESS);
    made.address = asked.dptr;
    made.fill = fill(graph, made.address, 4, 1, {made.allocation});
    CUgraphNode end = nullptr;
    if (frees) {
      EXPECT_EQ(symbol<Free>("cuGraphAddMemFreeNode")(&end, graph, &made.fill, 1, made.address),
                CUDA_SUCCESS);
    }
    return made;
  }
  CUresult launch(CUgraphExec executable) const {
    const CUresult result = driver()(calls::GraphLaunch{executable, CU_STREAM_LEGACY});
    EXPECT_EQ(driver()(calls::CtxSynchronize{}), CUDA_SUCCESS);
    return result;
  }
  CUresult update(CUgraphExec executable, CUgraph graph) const {
    CUgraphExecUpdateResultInfo info{};
    return driver()(calls::GraphExecUpdate_v2{executable, graph, &info});
  }
};

TEST_F(GraphMemoryUpdateTest, AGraphsOwnMemoryStays) {
  allocates(graph_, true);
  CUgraphExec executable = instantiate(graph_);
  EXPECT_EQ(update(executable, graph_), CUDA_SUCCESS);
  EXPECT_EQ(launch(executable), CUDA_SUCCESS);
}

TEST_F(GraphMemoryUpdateTest, MemoryThatStaysIsTheOtherGraphsFromThenOn) {
  const Made first = allocates(graph_, false), second = allocates(other_, false, 4 << 20);
  CUgraphExec executable = instantiate(graph_);
  EXPECT_EQ(update(executable, other_), CUDA_SUCCESS);
  EXPECT_EQ(launch(executable), CUDA_SUCCESS);
  unsigned char read = 0;
  EXPECT_EQ(driver()(calls::MemcpyDtoH{&read, first.address, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemcpyDtoH{&read, second.address, 1}), CUDA_SUCCESS);
  EXPECT_EQ(read, 3);
  EXPECT_EQ(launch(executable), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemFree{second.address}), CUDA_SUCCESS);
}

TEST_F(GraphMemoryUpdateTest, MemoryThatTheOtherGraphFreesIsNotTaken) {
  allocates(graph_, true);
  const Made second = allocates(other_, true);
  CUgraphExec executable = instantiate(graph_);
  const CUgraphExecUpdateResultInfo info = refused(executable, other_);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
  EXPECT_EQ(info.errorNode, second.fill);
  EXPECT_EQ(launch(executable), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
