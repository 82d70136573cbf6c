// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator/ptx/run/fault.h"
#include "emulator/ptx/run/grid.h"

namespace cuvmm::emulator::ptx {

/// Runs all blocks of a launch, one after the other; one that takes long lets others have a turn,
/// so that blocks may wait for each other.
Fault run(Grid& grid);

}  // namespace cuvmm::emulator::ptx
