// SPDX-License-Identifier: Apache-2.0
// How an edge is added to a graph.
#pragma once

#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

/// Makes a node depend on another node of its graph; INVALID_VALUE where it does already, or where
/// no edge with this data can exist between them.
CUresult add_dependency(GraphNode& node, GraphNode& on, const CUgraphEdgeData& data);

}  // namespace cuvmm::emulator
