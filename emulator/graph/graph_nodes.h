// SPDX-License-Identifier: Apache-2.0
// How a node's parameters become its work.
#pragma once

#include "emulator/core/emulator.h"
#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

/// Makes a node's contents from its parameters, for a graph or to replace the parameters of a node;
/// changes nothing else where the parameters are refused. Writes the addresses and bodies that it
/// makes to `params`.
CUresult make_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& out);

/// The answer to a node whose dependencies are refused: that of the parameters where a driver
/// checks them first (recorded), and else `wrong`. Such a node of memory leaves its mark on the
/// graph.
CUresult refuse_node(Emulator& e, CUgraph graph, const CUgraphNodeParams& params, CUresult wrong);

/// Makes the work of a kernel node again, whose attributes have changed.
CUresult make_kernel_again(Emulator& e, GraphNode& node);

/// Adds a node with the parameters to a graph. `data`: of the edges, or null.
CUresult add_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                  const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* params) noexcept;

/// As make_node, for a node whose parameters can be replaced: copies, fills, kernels, host
/// functions, events, memory operations and semaphores.
CUresult change_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& node);

}  // namespace cuvmm::emulator
