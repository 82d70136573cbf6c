// SPDX-License-Identifier: Apache-2.0
// Calls about nodes and executable graphs that an H100 refuses, and the codes.
#include <vector>

#include "emulator/graph/nodes/testing_one_graph.h"

namespace cuvmm::emulator::testing {
namespace {

class RefusedNodes : public OneGraphTest {
 protected:
  using Nodes = std::vector<CUgraphNode>;

  CUgraphNode empty(const Nodes& on = {}) const {
    CUgraphNode node = nullptr;
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
    EXPECT_EQ(symbol<Add>("cuGraphAddEmptyNode")(&node, graph_, on.data(), on.size()),
              CUDA_SUCCESS);
    return node;
  }
  CUresult child(CUgraph child, const Nodes& on = {}) const {
    CUgraphNode node = nullptr;
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
    return symbol<Add>("cuGraphAddChildGraphNode")(&node, graph_, on.data(), on.size(), child);
  }
  static CUDA_MEM_ALLOC_NODE_PARAMS allocation(size_t size = 100) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.bytesize = size;
    return params;
  }
  static CUresult allocate(CUgraph graph, CUDA_MEM_ALLOC_NODE_PARAMS& params, const Nodes& on = {},
                           CUgraphNode* out = nullptr) {
    CUgraphNode node = nullptr;
    using Add =
        CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUDA_MEM_ALLOC_NODE_PARAMS*);
    return symbol<Add>("cuGraphAddMemAllocNode")(out ? out : &node, graph, on.data(), on.size(),
                                                 &params);
  }
  CUresult free_node(CUdeviceptr address, const Nodes& on = {}) const {
    CUgraphNode node = nullptr;
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr);
    return symbol<Add>("cuGraphAddMemFreeNode")(&node, graph_, on.data(), on.size(), address);
  }
  CUresult fill(const CUDA_MEMSET_NODE_PARAMS& params, CUgraphNode* out = nullptr) const {
    CUgraphNode node = nullptr;
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                         const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
    return symbol<Add>("cuGraphAddMemsetNode")(out ? out : &node, graph_, nullptr, 0, &params,
                                               context_);
  }
  static CUresult instantiate(CUgraph graph, CUgraphExec* out, unsigned long long flags = 0) {
    return driver()(calls::GraphInstantiateWithFlags{out, graph, flags});
  }
  static CUresult clone(CUgraph graph) {
    CUgraph out = nullptr;
    return symbol<CUresult(CUgraph*, CUgraph)>("cuGraphClone")(&out, graph);
  }
};

TEST_F(RefusedNodes, AGraphOfMemoryIsNoChildAndNoOriginal) {
  CUgraph other = made();
  auto params = allocation();
  CUgraphNode node = nullptr;
  ASSERT_EQ(allocate(other, params, {}, &node), CUDA_SUCCESS);
  EXPECT_EQ(child(other), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNode first = empty();
  EXPECT_EQ(child(other, {first, first}), CUDA_ERROR_NOT_SUPPORTED) << "before the dependencies";
  EXPECT_EQ(clone(other), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(symbol<CUresult(CUgraphNode)>("cuGraphDestroyNode")(node), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(child(graph_), CUDA_ERROR_INVALID_VALUE) << "the driver dies";
  EXPECT_EQ(destroy(other), CUDA_SUCCESS);
}

// An H100's driver dies where the first two answers are an error.
TEST_F(RefusedNodes, AGraphThatANodeOwnsIsNoChild) {
  EXPECT_EQ(child(graph_), CUDA_ERROR_INVALID_VALUE);
  CUgraph inner = nullptr;
  using Create = CUresult(CUgraph*, unsigned);
  ASSERT_EQ(symbol<Create>("cuGraphCreate")(&inner, 0), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
  const auto add = symbol<Add>("cuGraphAddChildGraphNode");
  ASSERT_EQ(add(&node, graph_, nullptr, 0, inner), CUDA_SUCCESS);
  CUgraph owned = nullptr;
  using Get = CUresult(CUgraphNode, CUgraph*);
  ASSERT_EQ(symbol<Get>("cuGraphChildGraphNodeGetGraph")(node, &owned), CUDA_SUCCESS);
  EXPECT_EQ(add(&node, owned, nullptr, 0, graph_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(&node, owned, nullptr, 0, owned), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(add(&node, graph_, nullptr, 0, owned), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(RefusedNodes, AFreeNodeForMemoryOfNoNode) {
  CUdeviceptr pooled = 0;
  ASSERT_EQ(driver()(calls::MemAllocAsync{&pooled, 100, nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(free_node(pooled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemFreeAsync{pooled, nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(free_node(pooled), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RefusedNodes, ANodeOfMemoryThatIsRefusedLateLeavesItsMark) {
  auto params = allocation(0);
  CUgraphNode first = empty();
  EXPECT_EQ(allocate(graph_, params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(clone(graph_), CUDA_SUCCESS) << "its own parameters were wrong";
  params = allocation();
  EXPECT_EQ(allocate(graph_, params, {first, first}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(clone(graph_), CUDA_ERROR_NOT_SUPPORTED);
  CUgraph other = made();
  std::swap(graph_, other);
  EXPECT_EQ(free_node(memory_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(clone(graph_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(destroy(other), CUDA_SUCCESS);
}

TEST_F(RefusedNodes, AllocationsAreCheckedInTheDriversOrder) {
  CUmemAccessDesc peer = access(77);
  auto params = allocation(0);
  params.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(allocate(graph_, params), CUDA_ERROR_NOT_SUPPORTED) << "before the size";
  params.accessDescs = &peer;
  params.accessDescCount = 1;
  EXPECT_EQ(allocate(graph_, params), CUDA_ERROR_INVALID_DEVICE) << "before the handle type";
  params.poolProps.location.id = 77;
  EXPECT_EQ(allocate(graph_, params), CUDA_ERROR_INVALID_VALUE) << "before the peers";
  params = allocation();
  peer = access(0);
  params.accessDescs = &peer;
  params.accessDescCount = 1;
  CUgraphNode node = nullptr;
  ASSERT_EQ(allocate(graph_, params, {}, &node), CUDA_SUCCESS);
  CUDA_MEM_ALLOC_NODE_PARAMS params_read{};
  auto* get =
      symbol<CUresult(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS*)>("cuGraphMemAllocNodeGetParams");
  ASSERT_EQ(get(node, &params_read), CUDA_SUCCESS);
  ASSERT_EQ(params_read.accessDescCount, 1u);
  EXPECT_EQ(params_read.accessDescs[0].flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST_F(RefusedNodes, OfMemoryOneExecutableGraphOwnsTheAllocations) {
  CUgraphExec before = nullptr, executable = nullptr, second = nullptr;
  ASSERT_EQ(instantiate(graph_, &before), CUDA_SUCCESS) << "has no memory, and does not count";
  auto params = allocation();
  CUgraphNode node = nullptr;
  ASSERT_EQ(allocate(graph_, params, {}, &node), CUDA_SUCCESS);
  ASSERT_EQ(instantiate(graph_, &executable), CUDA_SUCCESS);
  EXPECT_EQ(instantiate(graph_, &second), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(free_node(params.dptr, {node}), CUDA_ERROR_INVALID_VALUE);
  CUgraphExecUpdateResultInfo info{};
  info.result = CU_GRAPH_EXEC_UPDATE_ERROR;
  EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{before, graph_, &info}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  for (CUgraphExec each : {before, executable}) {
    EXPECT_EQ(driver()(calls::GraphExecDestroy{each}), CUDA_SUCCESS);
  }
}

TEST_F(RefusedNodes, FillsAndCopiesAreCheckedWhenTheyAreAdded) {
  EXPECT_EQ(fill({memory_, 0, 0x1ff, 1, 8, 1}), CUDA_SUCCESS) << "the low bits count";
  EXPECT_EQ(fill({memory_ + 1, 0, 1, 2, 8, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fill({memory_, 4, 1, 1, 8, 2}), CUDA_ERROR_INVALID_VALUE) << "rows overlap";
  EXPECT_EQ(fill({memory_, 0, 1, 3, 8, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fill({memory_, 0, 1, 1, 0, 1}), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory_;
  copy.dstDevice = memory_ + 2048;
  copy.Height = copy.Depth = 1;
  CUgraphNode node = nullptr;
  using Add =
      CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D*, CUcontext);
  auto* add = symbol<Add>("cuGraphAddMemcpyNode");
  EXPECT_EQ(add(&node, graph_, nullptr, 0, &copy, context_), CUDA_ERROR_INVALID_VALUE);
  copy.WidthInBytes = 8;
  EXPECT_EQ(add(&node, graph_, nullptr, 0, &copy, context_), CUDA_SUCCESS);
}

TEST_F(RefusedNodes, AnExecutableGraphsFillKeepsToOneRow) {
  CUgraphNode one = nullptr, more = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(fill({memory_, 0, 1, 1, 8, 1}, &one), CUDA_SUCCESS);
  ASSERT_EQ(fill({memory_, 16, 1, 1, 8, 2}, &more), CUDA_SUCCESS);
  ASSERT_EQ(instantiate(graph_, &executable), CUDA_SUCCESS);
  const CUDA_MEMSET_NODE_PARAMS flat{memory_, 0, 2, 1, 8, 1}, tall{memory_, 16, 2, 1, 8, 2};
  const auto set = [&](CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& params) {
    return driver()(calls::GraphExecMemsetNodeSetParams{executable, node, &params, context_});
  };
  EXPECT_EQ(set(one, flat), CUDA_SUCCESS);
  EXPECT_EQ(set(one, tall), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(more, flat), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::GraphExecDestroy{executable}), CUDA_SUCCESS);
}

TEST_F(RefusedNodes, OnlyTheFormWithParametersUploads) {
  CUgraphExec executable = nullptr;
  const unsigned long long upload = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  EXPECT_EQ(instantiate(graph_, &executable, upload), CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = upload;
  ASSERT_EQ(driver()(calls::GraphInstantiateWithParams{&executable, graph_, &params}),
            CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::GraphExecDestroy{executable}), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
