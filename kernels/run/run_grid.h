// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/run/fault.h"
#include "kernels/run/grid.h"

namespace cuvmm::kernels {

/// Runs all blocks of a launch, one after the other. A block that takes long lets other blocks have
/// a turn, so that blocks can wait for each other.
Fault run(Grid& grid);

}  // namespace cuvmm::kernels
