// SPDX-License-Identifier: Apache-2.0
// What the nodes of a graph use.
#pragma once

#include <vector>

#include "rulebook/order/check_work.h"
#include "rulebook/order/uses.h"
#include "shim/session/bounds.h"
#include "shim/work/layouts.h"

namespace cuvmm::shim {

struct GraphUses {
  Uses::Shared ranges;                    ///< never null
  std::vector<LaunchArgument> arguments;  ///< whole parameters, and where copies and fills begin
};

/// Asks the driver for the nodes of a graph and of its child graphs. Nodes that it does not
/// describe are left out.
GraphUses read_graph(const Questions& ask, Layouts& layouts, CUgraph graph, const Bounds& bounds);

/// The bytes from the first to the last that a copy or fill touches.
UsedRange extent(const Touch& touch);

}  // namespace cuvmm::shim
