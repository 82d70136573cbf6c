// SPDX-License-Identifier: Apache-2.0
// Graphs that the program makes node by node: edges, order, parameters, children and conditions.
#include <vector>

#include "emulator/graph/nodes/testing_one_graph.h"

namespace cuvmm::emulator::testing {
namespace {

using AddNode = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t,
                         CUgraphNodeParams*);
using ChangeEdges = CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*,
                             const CUgraphEdgeData*, size_t);

class GraphTest : public OneGraphTest {
 protected:
  CUgraphNode empty(const std::vector<CUgraphNode>& on = {}) {
    CUgraphNode node = nullptr;
    auto* add =
        symbol<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t)>("cuGraphAddEmptyNode");
    EXPECT_EQ(add(&node, graph_, on.data(), on.size()), CUDA_SUCCESS);
    return node;
  }
  static CUresult add(CUgraph graph, CUgraphNodeParams& params, CUgraphNode* node,
                      const std::vector<CUgraphNode>& on = {}) {
    return symbol<AddNode>("cuGraphAddNode_v2")(node, graph, on.data(), nullptr, on.size(),
                                                &params);
  }
  CUgraphNodeParams fill(unsigned value) const {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset.dst = memory_;
    params.memset.elementSize = 1;
    params.memset.width = 16;
    params.memset.height = 1;
    params.memset.value = value;
    return params;
  }
  CUgraphNode fill_node(CUgraph graph, unsigned value, const std::vector<CUgraphNode>& on = {}) {
    CUgraphNode node = nullptr;
    CUgraphNodeParams params = fill(value);
    EXPECT_EQ(add(graph, params, &node, on), CUDA_SUCCESS);
    return node;
  }
  CUresult edge(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData* data = nullptr,
                const char* how = "cuGraphAddDependencies_v2") {
    return symbol<ChangeEdges>(how)(graph_, &from, &to, data, 1);
  }
  size_t edges() {
    size_t count = 0;
    auto* get = symbol<CUresult(CUgraph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData*, size_t*)>(
        "cuGraphGetEdges_v2");
    EXPECT_EQ(get(graph_, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
    return count;
  }
  static CUresult instantiate(CUgraph graph, CUgraphExec* out) {
    return symbol<CUresult(CUgraphExec*, CUgraph, unsigned long long)>(
        "cuGraphInstantiateWithFlags")(out, graph, 0);
  }
  CUgraphExec executable() {
    CUgraphExec made = nullptr;
    EXPECT_EQ(instantiate(graph_, &made), CUDA_SUCCESS);
    return made;
  }
  static CUresult launch(CUgraphExec executable) {
    return symbol<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch")(executable, nullptr);
  }
  void run_once() {
    CUgraphExec made = executable();
    EXPECT_EQ(launch(made), CUDA_SUCCESS);
    EXPECT_EQ(symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy")(made), CUDA_SUCCESS);
  }
  int byte() const {
    unsigned char value = 0;
    EXPECT_EQ(driver()(calls::MemcpyDtoH{&value, memory_, 1}), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(GraphTest, EdgesAreToldFromBothEnds) {
  CUgraphNode first = empty();
  CUgraphNode second = empty({first});
  CUgraphNode third = empty({first, second});
  EXPECT_EQ(edges(), 3u);
  using Get = CUresult(CUgraphNode, CUgraphNode*, CUgraphEdgeData*, size_t*);
  CUgraphNode nodes[4] = {first, first, first, first};
  CUgraphEdgeData data[4];
  size_t count = 4;
  ASSERT_EQ(symbol<Get>("cuGraphNodeGetDependencies_v2")(third, nodes, data, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nodes[1], second);
  EXPECT_EQ(nodes[2], nullptr);
  EXPECT_EQ(data[0].type, 0);
  ASSERT_EQ(symbol<Get>("cuGraphNodeGetDependentNodes_v2")(first, nullptr, nullptr, &count),
            CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  count = 4;
  auto* roots = symbol<CUresult(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetRootNodes");
  ASSERT_EQ(roots(graph_, nodes, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nodes[0], first);
  EXPECT_EQ(symbol<CUresult(CUgraphNode)>("cuGraphDestroyNode")(first), CUDA_SUCCESS);
  EXPECT_EQ(edges(), 1u);
  EXPECT_EQ(symbol<Get>("cuGraphNodeGetDependencies_v2")(first, nullptr, nullptr, &count),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, WrongEdgesAreRefused) {
  CUgraphNode first = empty();
  CUgraphNode second = empty({first});
  EXPECT_EQ(edge(first, second), CUDA_ERROR_INVALID_VALUE) << "is there";
  EXPECT_EQ(edge(first, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(edge(first, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUgraphEdgeData data{};
  data.reserved[4] = 1;
  CUgraphNode third = empty();
  EXPECT_EQ(edge(first, third, &data), CUDA_ERROR_INVALID_VALUE);
  data = {1, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
  EXPECT_EQ(edge(first, third, &data), CUDA_ERROR_INVALID_VALUE) << "between kernels only";
  EXPECT_EQ(edges(), 1u);
  constexpr auto kRemove = "cuGraphRemoveDependencies_v2";
  EXPECT_EQ(edge(first, third, nullptr, kRemove), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(edge(first, second, nullptr, kRemove), CUDA_SUCCESS);
  EXPECT_EQ(edges(), 0u);
}

TEST_F(GraphTest, NodesRunAfterWhatTheyDependOn) {
  CUgraphNode first = fill_node(graph_, 1);
  CUgraphNode second = fill_node(graph_, 2);
  run_once();
  EXPECT_EQ(byte(), 2);
  ASSERT_EQ(edge(second, first), CUDA_SUCCESS);
  run_once();
  EXPECT_EQ(byte(), 1);
  ASSERT_EQ(edge(first, second), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  auto* with = symbol<CUresult(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)>(
      "cuGraphInstantiateWithParams");
  EXPECT_EQ(with(&made, graph_, &params), CUDA_ERROR_INVALID_VALUE) << "a cycle";
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
}

TEST_F(GraphTest, ParametersOfGraphAndExecutableChangeApart) {
  CUgraphNode node = fill_node(graph_, 1);
  CUgraphExec made = executable();
  CUgraphNodeParams params = fill(2);
  auto* set = symbol<CUresult(CUgraphNode, CUgraphNodeParams*)>("cuGraphNodeSetParams");
  ASSERT_EQ(set(node, &params), CUDA_SUCCESS);
  CUDA_MEMSET_NODE_PARAMS params_read{};
  auto* get = symbol<CUresult(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*)>("cuGraphMemsetNodeGetParams");
  ASSERT_EQ(get(node, &params_read), CUDA_SUCCESS);
  EXPECT_EQ(params_read.value, 2u);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(byte(), 1);
  params = fill(3);
  auto* set_made =
      symbol<CUresult(CUgraphExec, CUgraphNode, CUgraphNodeParams*)>("cuGraphExecNodeSetParams");
  ASSERT_EQ(set_made(made, node, &params), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(byte(), 3);
  params.type = CU_GRAPH_NODE_TYPE_HOST;
  EXPECT_EQ(set(node, &params), CUDA_ERROR_INVALID_VALUE);
  params = fill(3);
  params.memset.elementSize = 3;
  EXPECT_EQ(set(node, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy")(made), CUDA_SUCCESS);
}

TEST_F(GraphTest, ANodeThatIsDisabledIsLeftOut) {
  CUgraphNode node = fill_node(graph_, 1);
  CUgraphNode second = fill_node(graph_, 2, {node});
  CUgraphNode nothing = empty({second});
  CUgraphExec made = executable();
  ASSERT_EQ(driver()(calls::GraphNodeSetEnabled{made, second, 0}), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(byte(), 1);
  unsigned enabled = 7;
  auto* get = symbol<CUresult(CUgraphExec, CUgraphNode, unsigned*)>("cuGraphNodeGetEnabled");
  EXPECT_EQ(get(made, second, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 0u);
  ASSERT_EQ(driver()(calls::GraphNodeSetEnabled{made, second, 1}), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(byte(), 2);
  EXPECT_EQ(driver()(calls::GraphNodeSetEnabled{made, nothing, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy")(made), CUDA_SUCCESS);
}

TEST_F(GraphTest, CopiesAreCheckedWhenTheyAreMade) {
  char host[16] = {};
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  CUDA_MEMCPY3D& copy = params.memcpy.copyParams;
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory_;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  copy.WidthInBytes = sizeof host;
  copy.Height = copy.Depth = 1;
  CUgraphNode node = nullptr;
  ASSERT_EQ(add(graph_, params, &node, {fill_node(graph_, 9)}), CUDA_SUCCESS);
  run_once();
  EXPECT_EQ(host[15], 9);
  copy.srcDevice = 0x1000;
  EXPECT_EQ(add(graph_, params, &node), CUDA_ERROR_INVALID_VALUE);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  EXPECT_EQ(add(graph_, params, &node), CUDA_ERROR_INVALID_HANDLE)
      << "a kernel node of no function";
}

TEST_F(GraphTest, AChildIsACloneOfItsGraph) {
  CUgraph child = made();
  fill_node(child, 5);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  CUgraphNode node = nullptr;
  ASSERT_EQ(add(graph_, params, &node), CUDA_SUCCESS);
  EXPECT_EQ(destroy(child), CUDA_SUCCESS);
  CUgraph owned = nullptr;
  auto* get = symbol<CUresult(CUgraphNode, CUgraph*)>("cuGraphChildGraphNodeGetGraph");
  ASSERT_EQ(get(node, &owned), CUDA_SUCCESS);
  EXPECT_NE(owned, child);
  EXPECT_EQ(destroy(owned), CUDA_ERROR_INVALID_VALUE) << "the node's";
  run_once();
  EXPECT_EQ(byte(), 5);
}

TEST_F(GraphTest, AConditionChoosesItsBody) {
  CUgraphConditionalHandle handle = 0;
  auto* create =
      symbol<CUresult(CUgraphConditionalHandle*, CUgraph, CUcontext, unsigned, unsigned)>(
          "cuGraphConditionalHandleCreate");
  EXPECT_EQ(create(&handle, graph_, context_, 1, 2), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(create(&handle, graph_, context_, 1, CU_GRAPH_COND_ASSIGN_DEFAULT), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  EXPECT_EQ(instantiate(graph_, &made), CUDA_ERROR_INVALID_VALUE) << "the handle is not used";
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 3;
  params.conditional.ctx = context_;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add(graph_, params, &node), CUDA_ERROR_INVALID_VALUE) << "then, else, and what?";
  params.conditional.size = 1;
  ASSERT_EQ(add(graph_, params, &node), CUDA_SUCCESS);
  ASSERT_NE(params.conditional.phGraph_out, nullptr);
  fill_node(params.conditional.phGraph_out[0], 6);
  run_once();
  EXPECT_EQ(byte(), 6);
  EXPECT_EQ(add(graph_, params, &node), CUDA_ERROR_INVALID_VALUE) << "the handle is taken";
}

}  // namespace
}  // namespace cuvmm::emulator::testing
