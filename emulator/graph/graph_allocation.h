// SPDX-License-Identifier: Apache-2.0
// What allocation and free nodes do at a launch.
#pragma once

#include "emulator/base/emulator.h"

namespace cuvmm::emulator {

/// INVALID_VALUE where the last launch's memory was never freed.
CUresult allocate(Emulator& e, NodeMemory& memory);
/// INVALID_VALUE where nothing is allocated at the address.
CUresult free_node_memory(Emulator& e, Address address);

}  // namespace cuvmm::emulator
