// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/graph/graph_change.h"

#include <utility>

namespace cuvmm::shim {

namespace {

// read(reader) gives the uses of the node after the change.
template <class Read>
OwnUses change_node(QueuedWork& work, CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
                    Read&& read) {
  if (work.active()) {
    NodeUses uses = read(work.node_reader());
    work.graphs().change(exec, [&](GraphRecord& graph) { graph.change(node, std::move(uses)); });
  }
  OwnUses own{work.graphs().order(exec, node), {}};
  own.exec = exec;
  if (work.graphs().any_owned()) {
    const Everywhere everywhere;
    NodeUses& uses = own.changed.emplace_back(read(work.node_reader(everywhere)));
    uses.node = node;
    uses.type = type;
  }
  if (!own.graph || own.graph->order.allocations.empty()) return own;
  const auto number = own.graph->numbers.find(node);
  if (number == own.graph->numbers.end()) return own;
  Bounds bounds;
  widen(bounds, own.graph->order.allocations);
  add_uses(number->second, type, read(work.node_reader(bounds)), own.uses);
  return own;
}

OwnUses change_child(QueuedWork& work, CUgraphExec exec, CUgraphNode node, CUgraph child) {
  work.graphs().forget_order(exec);
  work.graphs().forget_owned(exec);
  if (!work.active()) return {};
  std::vector<NodeUses> nodes = work.node_reader().graph(child);
  work.graphs().change(exec,
                       [&](GraphRecord& graph) { graph.change_child(node, std::move(nodes)); });
  return {};
}

OwnUses update(QueuedWork& work, CUgraphExec exec, CUgraph with) {
  if (work.active()) {
    std::vector<NodeUses> nodes = work.node_reader().graph(with);
    work.graphs().change(exec, [&](GraphRecord& graph) { graph.update(std::move(nodes)); });
  }
  OwnUses own;
  own.exec = exec;
  if (work.graphs().any_owned()) {
    const Everywhere everywhere;
    own.changed = work.node_reader(everywhere).graph(with);
    own.updated = true;
  }
  // Each node keeps its kind, so that the other graph allocates if this one did.
  if (!work.graphs().order(exec)) return own;
  auto graph = std::make_shared<OrderedGraph>();
  graph->order = work.memory_reader().read(with);
  own.graph = graph;
  own.uses = std::exchange(graph->order.uses, {});
  // The program goes on to name nodes of the first graph, and the driver does not say which node of
  // the other graph belongs to which of them.
  work.graphs().keep_order(exec, std::move(graph));
  return own;
}

// `Kernel` is any version of the structure.
template <class Kernel>
OwnUses change_kernel(QueuedWork& work, CUgraphExec exec, CUgraphNode node, const Kernel& kernel) {
  CUfunction function = kernel.func;
  if constexpr (requires { kernel.kern; }) {
    if (!function) function = reinterpret_cast<CUfunction>(kernel.kern);
  }
  return change_node(work, exec, node, CU_GRAPH_NODE_TYPE_KERNEL, [&](const NodeReader& reader) {
    return reader.kernel(function, kernel.kernelParams, kernel.extra);
  });
}

OwnUses change_copy(QueuedWork& work, CUgraphExec exec, CUgraphNode node,
                    const CUDA_MEMCPY3D& copy) {
  return change_node(work, exec, node, CU_GRAPH_NODE_TYPE_MEMCPY,
                     [&](const NodeReader& reader) { return reader.copy(copy); });
}

template <class Fill>
OwnUses change_fill(QueuedWork& work, CUgraphExec exec, CUgraphNode node, const Fill& fill) {
  return change_node(work, exec, node, CU_GRAPH_NODE_TYPE_MEMSET, [&](const NodeReader& reader) {
    return reader.fill(fill.dst, fill.pitch, fill.elementSize, fill.width, fill.height);
  });
}

template <class Batch>
OwnUses change_batch(QueuedWork& work, CUgraphExec exec, CUgraphNode node, const Batch& batch) {
  return change_node(
      work, exec, node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
      [&](const NodeReader& reader) { return reader.batch(batch.paramArray, batch.count); });
}

}  // namespace

OwnUses change_graph(QueuedWork& work, const calls::GraphExecUpdate& call) {
  return update(work, call.hGraphExec, call.hGraph);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecUpdate_v2& call) {
  return update(work, call.hGraphExec, call.hGraph);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecKernelNodeSetParams& call) {
  return change_kernel(work, call.hGraphExec, call.hNode, *call.nodeParams);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecKernelNodeSetParams_v1& call) {
  return change_kernel(work, call.hGraphExec, call.hNode, *call.nodeParams);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecMemcpyNodeSetParams& call) {
  return change_copy(work, call.hGraphExec, call.hNode, *call.copyParams);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecMemsetNodeSetParams& call) {
  return change_fill(work, call.hGraphExec, call.hNode, *call.memsetParams);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecBatchMemOpNodeSetParams& call) {
  return change_batch(work, call.hGraphExec, call.hNode, *call.nodeParams);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecChildGraphNodeSetParams& call) {
  return change_child(work, call.hGraphExec, call.hNode, call.childGraph);
}

OwnUses change_graph(QueuedWork& work, const calls::GraphExecNodeSetParams& call) {
  const CUgraphNodeParams& params = *call.nodeParams;
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return change_kernel(work, call.hGraphExec, call.hNode, params.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return change_copy(work, call.hGraphExec, call.hNode, params.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return change_fill(work, call.hGraphExec, call.hNode, params.memset);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return change_batch(work, call.hGraphExec, call.hNode, params.memOp);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return change_child(work, call.hGraphExec, call.hNode, params.graph.graph);
    default:
      return {};
  }
}

OwnUses change_graph(QueuedWork& work, const calls::GraphNodeSetEnabled& call) {
  const bool enabled = call.isEnabled != 0;
  work.graphs().change(call.hGraphExec,
                       [&](GraphRecord& graph) { graph.enable(call.hNode, enabled); });
  work.graphs().enable(call.hGraphExec, call.hNode, enabled);
  return {};
}

}  // namespace cuvmm::shim
