// SPDX-License-Identifier: Apache-2.0
// The edges of a graph. The answers follow the documentation; none was measured.
#include "emulator/graph/graph_edges.h"

#include <algorithm>
#include <cstring>

#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

bool is_default(const CUgraphEdgeData& data) {
  static constexpr CUgraphEdgeData kDefault{};
  return std::memcmp(&data, &kDefault, sizeof data) == 0;
}

// Only an edge between two kernels can have ports.
bool legal(const GraphNode& from, const GraphNode& to, const CUgraphEdgeData& data) {
  constexpr unsigned char kLastPort = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
  const bool reserved = std::any_of(std::begin(data.reserved), std::end(data.reserved),
                                    [](unsigned char byte) { return byte != 0; });
  if (reserved || data.to_port != 0 || data.from_port > kLastPort) return false;
  if (data.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) return data.from_port == 0;
  return data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && data.from_port != 0 &&
         from.type == CU_GRAPH_NODE_TYPE_KERNEL && to.type == CU_GRAPH_NODE_TYPE_KERNEL;
}

auto dependency_on(GraphNode& node, const GraphNode& on) {
  return std::find_if(node.dependencies.begin(), node.dependencies.end(),
                      [&](const Dependency& d) { return d.on == &on; });
}

struct Edge {
  CUgraphNode from, to;
  CUgraphEdgeData data;
};
using Edges = std::vector<Edge>;

void add_dependencies(GraphNode& node, Edges& edges) {
  for (const Dependency& d : node.dependencies) {
    edges.push_back({d.on->handle(), node.handle(), d.data});
  }
}

// Fills the caller's arrays `from` and `to`; `data` may be null, where no edge has any.
CUresult tell(const Edges& edges, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
              size_t* count) {
  if (!count || (data && !from && !to)) return CUDA_ERROR_INVALID_VALUE;
  if (!from && !to) {
    *count = edges.size();
    return CUDA_SUCCESS;
  }
  const bool plain = std::all_of(edges.begin(), edges.end(),
                                 [](const Edge& edge) { return is_default(edge.data); });
  if (!data && !plain) return CUDA_ERROR_LOSSY_QUERY;
  for (std::size_t i = 0; i < *count; ++i) {
    const Edge edge = i < edges.size() ? edges[i] : Edge{};
    if (from) from[i] = edge.from;
    if (to) to[i] = edge.to;
    if (data && i < edges.size()) data[i] = edge.data;
  }
  *count = std::min(*count, edges.size());
  return CUDA_SUCCESS;
}

CUresult edges_of(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                  size_t* count) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const Graph* graph = e.graphs.find(handle);
    if (!graph || !from != !to) return CUDA_ERROR_INVALID_VALUE;
    Edges edges;
    for (const auto& node : graph->nodes) add_dependencies(*node, edges);
    return tell(edges, from, to, data, count);
  });
}

CUresult dependencies_of(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data,
                         size_t* count) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    GraphNode* node = e.graphs.find(handle);
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    Edges edges;
    add_dependencies(*node, edges);
    return tell(edges, out, nullptr, data, count);
  });
}

CUresult dependents_of(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data,
                       size_t* count) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    CUgraph home = nullptr;
    if (!e.graphs.find(handle, &home)) return CUDA_ERROR_INVALID_VALUE;
    Edges edges;
    for (const auto& node : e.graphs.find(home)->nodes) add_dependencies(*node, edges);
    std::erase_if(edges, [&](const Edge& edge) { return edge.from != handle; });
    return tell(edges, nullptr, out, data, count);
  });
}

// Runs body(from, to, data) for each edge, after a check that all edges are between nodes of the
// graph.
template <class Body>
CUresult for_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                   const CUgraphEdgeData* data, size_t count, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const Graphs& graphs = e.graphs;
    const Graph* graph = graphs.find(handle);
    if (!graph || (count && (!from || !to))) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      CUgraph homes[2] = {};
      graphs.find(from[i], &homes[0]);
      graphs.find(to[i], &homes[1]);
      if (homes[0] != handle || homes[1] != handle) return CUDA_ERROR_INVALID_VALUE;
    }
    return body(*graph, [&](auto&& each) -> CUresult {
      for (std::size_t i = 0; i < count; ++i) {
        const CUresult result =
            each(*graphs.find(from[i]), *graphs.find(to[i]), data ? data[i] : CUgraphEdgeData{});
        if (result != CUDA_SUCCESS) return result;
      }
      return CUDA_SUCCESS;
    });
  });
}

CUresult add(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
             const CUgraphEdgeData* data, size_t count) noexcept {
  return for_edges(handle, from, to, data, count, [](const Graph&, auto&& edges) -> CUresult {
    // Nodes whose new edges are removed if a later edge is refused.
    std::vector<GraphNode*> changed;
    const CUresult result =
        edges([&](GraphNode& on, GraphNode& node, const CUgraphEdgeData& with) -> CUresult {
          const CUresult added = add_dependency(node, on, with);
          if (added == CUDA_SUCCESS) changed.push_back(&node);
          return added;
        });
    if (result == CUDA_SUCCESS) return result;
    for (GraphNode* node : changed) node->dependencies.pop_back();
    return result;
  });
}

CUresult remove(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                const CUgraphEdgeData* data, size_t count) noexcept {
  return for_edges(
      handle, from, to, data, count, [&](const Graph& graph, auto&& edges) -> CUresult {
        if (count && graph.has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
        const auto there = [](GraphNode& on, GraphNode& node,
                              const CUgraphEdgeData& with) -> CUresult {
          const auto found = dependency_on(node, on);
          const bool same = found != node.dependencies.end() &&
                            std::memcmp(&found->data, &with, sizeof with) == 0;
          return same ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        };
        const CUresult result = edges(there);
        if (result != CUDA_SUCCESS) return result;
        return edges([](GraphNode& on, GraphNode& node, const CUgraphEdgeData&) -> CUresult {
          const auto found = dependency_on(node, on);  // end() where an edge is named twice
          if (found != node.dependencies.end()) node.dependencies.erase(found);
          return CUDA_SUCCESS;
        });
      });
}

}  // namespace

CUresult add_dependency(GraphNode& node, GraphNode& on, const CUgraphEdgeData& data) {
  if (&node == &on || !legal(on, node, data) ||
      dependency_on(node, on) != node.dependencies.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  node.dependencies.push_back({&on, data});
  return CUDA_SUCCESS;
}

CUVMM_DRIVER_FUNCTION(cuGraphGetEdges_v2, CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                      CUgraphEdgeData* data, size_t* count) {
  return edges_of(graph, from, to, data, count);
}
CUVMM_DRIVER_FUNCTION(cuGraphGetEdges, CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                      size_t* count) {
  return edges_of(graph, from, to, nullptr, count);
}

CUVMM_DRIVER_FUNCTION(cuGraphNodeGetDependencies_v2, CUgraphNode node, CUgraphNode* out,
                      CUgraphEdgeData* data, size_t* count) {
  return dependencies_of(node, out, data, count);
}
CUVMM_DRIVER_FUNCTION(cuGraphNodeGetDependencies, CUgraphNode node, CUgraphNode* out,
                      size_t* count) {
  return dependencies_of(node, out, nullptr, count);
}

CUVMM_DRIVER_FUNCTION(cuGraphNodeGetDependentNodes_v2, CUgraphNode node, CUgraphNode* out,
                      CUgraphEdgeData* data, size_t* count) {
  return dependents_of(node, out, data, count);
}
CUVMM_DRIVER_FUNCTION(cuGraphNodeGetDependentNodes, CUgraphNode node, CUgraphNode* out,
                      size_t* count) {
  return dependents_of(node, out, nullptr, count);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddDependencies_v2, CUgraph graph, const CUgraphNode* from,
                      const CUgraphNode* to, const CUgraphEdgeData* data, size_t count) {
  return add(graph, from, to, data, count);
}
CUVMM_DRIVER_FUNCTION(cuGraphAddDependencies, CUgraph graph, const CUgraphNode* from,
                      const CUgraphNode* to, size_t count) {
  return add(graph, from, to, nullptr, count);
}

CUVMM_DRIVER_FUNCTION(cuGraphRemoveDependencies_v2, CUgraph graph, const CUgraphNode* from,
                      const CUgraphNode* to, const CUgraphEdgeData* data, size_t count) {
  return remove(graph, from, to, data, count);
}
CUVMM_DRIVER_FUNCTION(cuGraphRemoveDependencies, CUgraph graph, const CUgraphNode* from,
                      const CUgraphNode* to, size_t count) {
  return remove(graph, from, to, nullptr, count);
}

}  // namespace cuvmm::emulator
