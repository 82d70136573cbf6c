// SPDX-License-Identifier: Apache-2.0
// Arguments of functions without checks of their own, by which a driver dies.
#pragma once

#include <cstddef>

#include "rulebook/memory/check_ended.h"
#include "shim/intercept/added_node.h"

namespace cuvmm::shim {

/// The violation of a call by which a driver dies, seen in the arguments alone: external semaphores
/// without an array.
template <class... Args>
Violations deadly_arguments(Args... arguments) {
  NodeSemaphores found = nullptr;
  ((found = found ? found : semaphores_of(arguments)), ...);
  return deadly_semaphores(found);
}

// An H200 refuses such semaphores for a node of an executable graph.
inline Violations deadly_arguments(CUgraphExec, CUgraphNode, NodeSemaphores) { return {}; }

inline Violations deadly_access(const CUDA_MEM_ALLOC_NODE_PARAMS* node) {
  const bool missing = node && node->accessDescCount != 0 && !node->accessDescs;
  return missing ? check_announced("accessDescs", "accessDescCount", node->accessDescCount)
                 : Violations{};
}
inline Violations deadly_arguments(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                                   CUDA_MEM_ALLOC_NODE_PARAMS* node) {
  return deadly_access(node);
}

// A graph that the call adds to itself as a child.
inline Violations deadly_child(CUgraph graph, CUgraph child) {
  return graph == child && graph ? check_own_child(handle_of(graph)) : Violations{};
}
inline Violations deadly_arguments(CUgraphNode*, CUgraph graph, const CUgraphNode*, std::size_t,
                                   CUgraph child) {
  return deadly_child(graph, child);
}
inline Violations deadly_arguments(CUgraphNode*, CUgraph graph, const CUgraphNode*, std::size_t,
                                   NodeParams params) {
  Violations child = deadly_child(graph, child_of(params));
  return child.empty() ? deadly_semaphores(semaphores_of(params)) : child;
}
inline Violations deadly_arguments(CUgraphNode*, CUgraph graph, const CUgraphNode*, const void*,
                                   std::size_t, NodeParams params) {
  Violations child = deadly_child(graph, child_of(params));
  return child.empty() ? deadly_semaphores(semaphores_of(params)) : child;
}

// A description of no resources.
inline Violations deadly_arguments(CUdevResourceDesc* out, CUdevResource* resources,
                                   unsigned count) {
  return out && resources && count == 0 ? check_no_resources() : Violations{};
}

}  // namespace cuvmm::shim
