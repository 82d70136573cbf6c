// SPDX-License-Identifier: Apache-2.0
// Reads and replaces the parameters of nodes, of graphs and of executable graphs.
#pragma once

#include <variant>

#include "emulator/core/locked.h"
#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

/// Parameters in the structure of all kinds of nodes: of a batch, and of a node that records or
/// awaits an event.
CUgraphNodeParams params_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& batch);
CUgraphNodeParams params_of(CUgraphNodeType type, CUevent event);

/// The answer to a call without parameters: INVALID_VALUE once cuInit has succeeded, and the usual
/// error before cuInit or after the end.
CUresult no_params() noexcept;

/// INVALID_VALUE for parameters of another kind of node, and for those that change_node() refuses.
CUresult set_params(CUgraphNode handle, CUgraphNodeParams* params) noexcept;
/// As above, for the step of an executable graph that came from `original`.
CUresult set_params(CUgraphExec executable, CUgraphNode original,
                    CUgraphNodeParams* params) noexcept;

/// Writes a node's parameters in the structure of its kind. Captured nodes of some kinds have no
/// parameters.
template <class Params>
CUresult get_params(CUgraphNode handle, Params* out) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const GraphNode* node = e.graphs.find(handle);
    const Params* params = node ? std::get_if<Params>(&node->params) : nullptr;
    if (!params || !out) return CUDA_ERROR_INVALID_VALUE;
    *out = *params;
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
