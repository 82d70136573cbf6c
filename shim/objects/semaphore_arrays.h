// SPDX-License-Identifier: Apache-2.0
// The external semaphores of a node that signals them or waits for them.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>

#include "rulebook/memory/check_ended.h"
#include "shim/objects/kernel_nodes.h"

namespace cuvmm::shim {

/// The common beginning of CUDA_EXT_SEM_SIGNAL_NODE_PARAMS and CUDA_EXT_SEM_WAIT_NODE_PARAMS.
struct SemaphoreArrays {
  const CUexternalSemaphore* semaphores;
  const void* params;
  unsigned count;
};
using NodeSemaphores = const SemaphoreArrays*;

#if CUDA_VERSION >= 12020
/// Null if the node is of another type.
inline NodeSemaphores semaphores_of(const CUgraphNodeParams* node) {
  if (node && node->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL)
    return reinterpret_cast<NodeSemaphores>(&node->extSemSignal);
  if (node && node->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT)
    return reinterpret_cast<NodeSemaphores>(&node->extSemWait);
  return nullptr;
}
#endif

inline Violations deadly_semaphores(NodeSemaphores node) {
  if (!node || node->count == 0 || (node->semaphores && node->params)) return {};
  return check_announced(node->semaphores ? "paramsArray" : "extSemArray", "numExtSems",
                         node->count);
}

/// The node's entry among those of kernels (shim/objects/kernel_nodes.h); 0 for none.
inline KernelNodes::Handle entry_of(NodeSemaphores node) {
  if (!node) return 0;
  const bool known = node->count != 0 && node->semaphores;
  const bool null = known && std::find(node->semaphores, node->semaphores + node->count, nullptr) !=
                                 node->semaphores + node->count;
  return null ? KernelNodes::kNullSemaphore : KernelNodes::kSemaphores;
}

}  // namespace cuvmm::shim
