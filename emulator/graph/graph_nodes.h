// SPDX-License-Identifier: Apache-2.0
// From the parameters of a node to what it does.
#pragma once

#include "emulator/core/emulator.h"
#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

/// Makes what a node of these parameters is, in a graph or for one of its nodes; nothing else
/// changes where it is refused. Addresses and bodies that it makes are written to the parameters.
CUresult make_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& out);

/// As make_node, for a node whose parameters can be replaced: copies, fills, kernels and host
/// functions.
CUresult change_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& node);

}  // namespace cuvmm::emulator
