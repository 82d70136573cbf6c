// SPDX-License-Identifier: Apache-2.0
// How an edge comes into a graph.
#pragma once

#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

/// Makes a node depend on another of its graph; INVALID_VALUE where it does already, or where no
/// such edge can be between them.
CUresult add_dependency(GraphNode& node, GraphNode& on, const CUgraphEdgeData& data);

}  // namespace cuvmm::emulator
