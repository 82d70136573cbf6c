// SPDX-License-Identifier: Apache-2.0
// Copies in graphs from and to page-locked memory of the host, which the GPU reads and writes by
// itself. A driver looks at the memory when the graph gets the node; a launch behind the end of the
// memory or of its registration fails on the GPU, also where the address is page-locked again (H100
// and H200, 580.159.04: LAUNCH_FAILED at the next wait).
#pragma once

#include "emulator/core/emulator.h"
#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

/// Notes which memory of a copy is page-locked as a graph gets the node, or its parameters.
void note_page_locked(const Emulator& e, GraphNode& node);

/// Whether all memory that note_page_locked noted is page-locked still.
bool still_page_locked(const Emulator& e, const GraphNode& node);

}  // namespace cuvmm::emulator
