// SPDX-License-Identifier: Apache-2.0
// Calls that add a node to a graph, or change it: the memory that the node frees, the function that
// it runs, and the external semaphores that it names. Each function answers 0 for the arguments of
// all other calls.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "shim/objects/ended.h"
#include "shim/objects/semaphore_arrays.h"

namespace cuvmm::shim {

// Parameters that have types of their own here, because their calls are looked at in their own way.
// They are passed as the number and the pointer that they hold.
enum FreedByNode : CUdeviceptr {};
using NodeParams = struct AnyNode*;                   ///< cuGraphAddNode's CUgraphNodeParams
using FirstKernel = const struct FirstKernelParams*;  ///< CUDA_KERNEL_NODE_PARAMS_v1

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
inline NodeSemaphores semaphores_of(NodeParams params) {
  return semaphores_of(reinterpret_cast<const CUgraphNodeParams*>(params));
}
inline std::uint64_t kernel_of(NodeParams params) {
  if (NodeSemaphores semaphores = semaphores_of(params)) return entry_of(semaphores);
  const CUgraphNodeParams* node = node_of(params, CU_GRAPH_NODE_TYPE_KERNEL);
  if (!node) return 0;
  return node->kernel.func ? handle_of(node->kernel.func) : handle_of(node->kernel.kern);
}
#else
inline NodeSemaphores semaphores_of(NodeParams) { return nullptr; }
inline std::uint64_t kernel_of(NodeParams) { return 0; }
inline CUdeviceptr freed_of(NodeParams) { return 0; }
inline CUgraph child_of(NodeParams) { return nullptr; }
#endif

inline std::uint64_t kernel_of(const CUDA_KERNEL_NODE_PARAMS* params) { return handle_of(params); }
inline std::uint64_t kernel_of(FirstKernel params) {
  return params ? handle_of(*reinterpret_cast<const CUfunction*>(params)) : 0;
}
inline std::uint64_t kernel_of(NodeSemaphores semaphores) { return entry_of(semaphores); }
inline NodeSemaphores semaphores_of(NodeSemaphores semaphores) { return semaphores; }
inline CUgraph child_of(CUgraph child) { return child; }
template <class Argument>
std::uint64_t kernel_of(Argument) {
  return 0;
}
template <class Argument>
NodeSemaphores semaphores_of(Argument) {
  return nullptr;
}
template <class Argument>
CUgraph child_of(Argument) {
  return nullptr;
}

/// The program has added a node to the graph: notes the functions that it runs.
template <class... Args>
void note_code(CUgraph graph, CUgraphNode node, Args... arguments) {
  const auto one = [&](auto argument) {
    const std::uint64_t function = kernel_of(argument);
    if (function != 0) object_table().run_function(handle_of(graph), handle_of(node), function);
    if (CUgraph child = child_of(argument))
      object_table().copy_nodes(handle_of(child), handle_of(graph), handle_of(node));
  };
  (one(arguments), ...);
}

/// The program has given a node other parameters.
template <class Params>
void note_new_function(CUgraphNode node, Params params) {
  if (const std::uint64_t function = kernel_of(params))
    object_table().run_function(0, handle_of(node), function);
}
inline void note_node(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  note_new_function(node, params);
}
inline void note_node(CUgraphNode node, FirstKernel params) { note_new_function(node, params); }
inline void note_node(CUgraphNode node, NodeParams params) { note_new_function(node, params); }
inline void note_node(CUgraphNode node, NodeSemaphores params) { note_new_function(node, params); }
inline void note_node(CUgraphExec exec, CUgraphNode, NodeSemaphores params) {
  object_table().change_executable(handle_of(exec), entry_of(params));
}

/// The driver has made a copy of a graph.
inline void note_copy(CUgraph* out, CUgraph graph) {
  object_table().copy_nodes(handle_of(graph), handle_of(*out), 0);
}
template <class... Args>
void note_copy(Args...) {}

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

}  // namespace cuvmm::shim
