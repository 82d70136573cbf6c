// SPDX-License-Identifier: Apache-2.0
// Replaces the parameters of an executable graph by those of another graph of equal form. The
// answers follow the documentation; none was measured.
#pragma once

#include "emulator/core/emulator.h"
#include "emulator/graph/update/update_result.h"
#include "emulator/objects/executable.h"

namespace cuvmm::emulator {

/// Gives the steps of an executable graph, or of a child or body in it, the parameters of a graph's
/// nodes, or changes nothing. `flags`: those that it was instantiated with.
UpdateResult update(Emulator& e, Steps& steps, CUgraph graph, unsigned long long flags);

/// Whether neither node is a kernel, or both are kernels of an equal context, because a node's
/// context never changes.
bool same_context(const GraphNode& a, const GraphNode& b);

}  // namespace cuvmm::emulator
