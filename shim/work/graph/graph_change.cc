// SPDX-License-Identifier: Apache-2.0
#include "shim/work/graph/graph_change.h"

#include <utility>

namespace cuvmm::shim {

namespace {

void change_node(WorkRoom& room, CUgraphExec exec, CUgraphNode node, NodeUses uses) {
  room.change_graph(exec, [&](GraphRecord& graph) { graph.change(node, std::move(uses)); });
}

void change_child(WorkRoom& room, CUgraphExec exec, CUgraphNode node, CUgraph child) {
  std::vector<NodeUses> nodes = room.node_reader().graph(child);
  room.change_graph(exec, [&](GraphRecord& graph) { graph.change_child(node, std::move(nodes)); });
}

// Of any version of the structure.
template <class Kernel>
NodeUses uses_of(WorkRoom& room, const Kernel& kernel) {
  const auto function = kernel.func ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
  return room.node_reader().kernel(function, kernel.kernelParams, kernel.extra);
}

template <class Fill>
NodeUses uses_of_fill(WorkRoom& room, const Fill& fill) {
  return room.node_reader().fill(fill.dst, fill.pitch, fill.elementSize, fill.width, fill.height);
}

}  // namespace

void change_graph(WorkRoom& room, const calls::GraphExecUpdate_v2& call) {
  std::vector<NodeUses> nodes = room.node_reader().graph(call.hGraph);
  room.change_graph(call.hGraphExec, [&](GraphRecord& graph) { graph.update(std::move(nodes)); });
}

void change_graph(WorkRoom& room, const calls::GraphExecKernelNodeSetParams& call) {
  change_node(room, call.hGraphExec, call.hNode, uses_of(room, *call.nodeParams));
}

void change_graph(WorkRoom& room, const calls::GraphExecMemcpyNodeSetParams& call) {
  change_node(room, call.hGraphExec, call.hNode, room.node_reader().copy(*call.copyParams));
}

void change_graph(WorkRoom& room, const calls::GraphExecMemsetNodeSetParams& call) {
  change_node(room, call.hGraphExec, call.hNode, uses_of_fill(room, *call.memsetParams));
}

void change_graph(WorkRoom& room, const calls::GraphExecBatchMemOpNodeSetParams& call) {
  NodeUses uses = room.node_reader().batch(call.nodeParams->paramArray, call.nodeParams->count);
  change_node(room, call.hGraphExec, call.hNode, std::move(uses));
}

void change_graph(WorkRoom& room, const calls::GraphExecChildGraphNodeSetParams& call) {
  change_child(room, call.hGraphExec, call.hNode, call.childGraph);
}

void change_graph(WorkRoom& room, const calls::GraphExecNodeSetParams& call) {
  const CUgraphNodeParams& params = *call.nodeParams;
  const auto change = [&](NodeUses uses) {
    change_node(room, call.hGraphExec, call.hNode, std::move(uses));
  };
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return change(uses_of(room, params.kernel));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return change(room.node_reader().copy(params.memcpy.copyParams));
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return change(uses_of_fill(room, params.memset));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return change(room.node_reader().batch(params.memOp.paramArray, params.memOp.count));
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return change_child(room, call.hGraphExec, call.hNode, params.graph.graph);
    default:
      return;
  }
}

void change_graph(WorkRoom& room, const calls::GraphNodeSetEnabled& call) {
  room.change_graph(call.hGraphExec,
                    [&](GraphRecord& graph) { graph.enable(call.hNode, call.isEnabled != 0); });
}

}  // namespace cuvmm::shim
