// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/run/fault.h"
#include "kernels/run/grid.h"

namespace cuvmm::kernels {

/// Runs all blocks of a launch, one after the other; one that takes long lets others have a turn,
/// so that blocks may wait for each other.
Fault run(Grid& grid);

}  // namespace cuvmm::kernels
