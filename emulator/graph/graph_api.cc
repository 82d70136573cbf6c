// SPDX-License-Identifier: Apache-2.0
// Graphs that the program makes, changes and queries. The answers about objects that no capture
// makes follow the documentation; none was measured.
#include <algorithm>

#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/graph/user_objects.h"

namespace cuvmm::emulator {

namespace {

// Runs body(all graphs, the graph).
template <class Body>
CUresult on_graph(CUgraph handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const Graph* graph = e.graphs.find(handle);
    return graph && !graph->broken ? body(e.graphs, *graph) : CUDA_ERROR_INVALID_VALUE;
  });
}

// Runs body(all graphs, node, its graph).
template <class Body>
CUresult on_node(CUgraphNode handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    CUgraph home = nullptr;
    GraphNode* node = e.graphs.find(handle, &home);
    return node ? body(e.graphs, *node, home) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult tell(const std::vector<CUgraphNode>& all, CUgraphNode* nodes, size_t* count) {
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; nodes && i < *count; ++i) nodes[i] = i < all.size() ? all[i] : nullptr;
  *count = nodes ? std::min(*count, all.size()) : all.size();
  return CUDA_SUCCESS;
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGraphCreate, CUgraph* out, unsigned flags) {
  return locked([&](Emulator& e) -> CUresult {
    if (!out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *out = e.graphs.add(Graph{});
    return CUDA_SUCCESS;
  });
}

// The graph that a node owns ends with the node.
CUVMM_DRIVER_FUNCTION(cuGraphDestroy, CUgraph handle) {
  return ending_objects([&](Emulator& e) -> CUresult {
    const Graph* graph = e.graphs.find(handle);
    if (!graph || graph->parent || graph->broken) return CUDA_ERROR_INVALID_VALUE;
    e.graphs.erase(handle);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphClone, CUgraph* out, CUgraph handle) {
  return on_graph(handle, [&](Graphs& graphs, const Graph& graph) -> CUresult {
    const bool conditions =
        std::any_of(graph.nodes.begin(), graph.nodes.end(),
                    [](const auto& node) { return node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL; });
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (graph.has_memory_nodes() || conditions) return CUDA_ERROR_NOT_SUPPORTED;
    *out = graphs.clone(handle, nullptr);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphNodeFindInClone, CUgraphNode* out, CUgraphNode original,
                      CUgraph handle) {
  return on_graph(handle, [&](const Graphs& graphs, const Graph& graph) -> CUresult {
    const GraphNode* sought = graphs.find(original);
    if (!out || !sought || !graph.original) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& node : graph.nodes) {
      if (node->original != sought) continue;
      *out = node->handle();
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphDestroyNode, CUgraphNode handle) {
  return on_node(handle, [&](Graphs& graphs, GraphNode& node, CUgraph home) -> CUresult {
    if (graphs.find(home)->has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
    graphs.erase(home, node);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphGetNodes, CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return on_graph(handle, [&](const Graphs&, const Graph& graph) -> CUresult {
    std::vector<CUgraphNode> all;
    for (const auto& node : graph.nodes) all.push_back(node->handle());
    return tell(all, nodes, count);
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphGetRootNodes, CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return on_graph(handle, [&](const Graphs&, const Graph& graph) -> CUresult {
    std::vector<CUgraphNode> roots;
    for (const auto& node : graph.nodes) {
      if (node->dependencies.empty()) roots.push_back(node->handle());
    }
    return tell(roots, nodes, count);
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphNodeGetType, CUgraphNode handle, CUgraphNodeType* type) {
  return on_node(handle, [&](const Graphs&, const GraphNode& node, CUgraph) -> CUresult {
    if (!type) return CUDA_ERROR_INVALID_VALUE;
    *type = node.type;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphChildGraphNodeGetGraph, CUgraphNode handle, CUgraph* out) {
  return on_node(handle, [&](const Graphs&, const GraphNode& node, CUgraph) -> CUresult {
    if (!out || node.type != CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_INVALID_VALUE;
    *out = node.bodies.front();
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphConditionalHandleCreate, CUgraphConditionalHandle* out, CUgraph graph,
                      CUcontext handle, unsigned at_launch, unsigned flags) {
  return locked([&](Emulator& e) -> CUresult {
    const Context* context = handle ? e.contexts.find(handle) : e.current_context();
    if (!out || !e.graphs.find(graph) || !context || !context->alive ||
        (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const bool assigned = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
    *out = e.graphs.add(Condition{graph, context, assigned ? at_launch : 0});
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
