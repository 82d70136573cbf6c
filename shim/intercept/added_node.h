// SPDX-License-Identifier: Apache-2.0
// Calls that add a node to a graph: the memory that the node frees, and the graph that would become
// its own child. Each function answers 0 for the arguments of all other calls.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "shim/objects/ended.h"

namespace cuvmm::shim {

// Parameters that have types of their own here, because their calls are looked at in their own way.
// They are passed as the number and the pointer that they hold.
enum FreedByNode : CUdeviceptr {};
using NodeParams = struct AnyNode*;  ///< cuGraphAddNode's CUgraphNodeParams

#if CUDA_VERSION >= 12020
inline const CUgraphNodeParams* node_of(NodeParams params, CUgraphNodeType type) {
  const auto* node = reinterpret_cast<const CUgraphNodeParams*>(params);
  return node && node->type == type ? node : nullptr;
}
inline CUdeviceptr freed_of(NodeParams params) {
  const CUgraphNodeParams* node = node_of(params, CU_GRAPH_NODE_TYPE_MEM_FREE);
  return node ? node->free.dptr : 0;
}
inline CUgraph child_of(NodeParams params) {
  const CUgraphNodeParams* node = node_of(params, CU_GRAPH_NODE_TYPE_GRAPH);
  return node ? node->graph.graph : nullptr;
}
#else
inline CUdeviceptr freed_of(NodeParams) { return 0; }
inline CUgraph child_of(NodeParams) { return nullptr; }
#endif

/// The memory that the new node shall free.
template <class... Args>
CUdeviceptr freed_by(Args...) {
  return 0;
}
inline CUdeviceptr freed_by(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                            FreedByNode freed) {
  return freed;
}
inline CUdeviceptr freed_by(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                            NodeParams params) {
  return freed_of(params);
}
inline CUdeviceptr freed_by(CUgraphNode*, CUgraph, const CUgraphNode*, const void*, std::size_t,
                            NodeParams params) {
  return freed_of(params);
}

/// The graph that the call adds to itself as a child.
template <class... Args>
std::uint64_t own_child(Args...) {
  return 0;
}
inline std::uint64_t own_child(CUgraphNode*, CUgraph graph, const CUgraphNode*, std::size_t,
                               CUgraph child) {
  return graph == child ? handle_of(graph) : 0;
}
inline std::uint64_t own_child(CUgraphNode*, CUgraph graph, const CUgraphNode*, std::size_t,
                               NodeParams params) {
  return graph == child_of(params) ? handle_of(graph) : 0;
}
inline std::uint64_t own_child(CUgraphNode*, CUgraph graph, const CUgraphNode*, const void*,
                               std::size_t, NodeParams params) {
  return graph == child_of(params) ? handle_of(graph) : 0;
}

}  // namespace cuvmm::shim
