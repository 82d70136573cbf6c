// SPDX-License-Identifier: Apache-2.0
// An executable graph takes over the parameters of another graph of the same form. From the
// documentation; no driver was asked.
#pragma once

#include "emulator/core/emulator.h"
#include "emulator/graph/update/update_result.h"
#include "emulator/objects/executable.h"

namespace cuvmm::emulator {

/// Gives the steps of an executable graph, or of a child or body in it, the parameters of a graph's
/// nodes, or changes nothing. `flags`: what it was instantiated with.
UpdateResult update(Emulator& e, Steps& steps, CUgraph graph, unsigned long long flags);

/// Whether both are no kernels, or kernels of one context: that of a node never changes.
bool same_context(const GraphNode& a, const GraphNode& b);

}  // namespace cuvmm::emulator
