// SPDX-License-Identifier: Apache-2.0
// What allocation and free nodes do at a launch.
#pragma once

#include <vector>

#include "emulator/core/emulator.h"
#include "emulator/objects/executable.h"

namespace cuvmm::emulator {

/// INVALID_VALUE where the last launch's memory was never freed.
CUresult allocate(Emulator& e, const NodeMemory& memory);
/// Whether memory of an earlier launch lives that this one would not free first, where nothing is
/// queued that might free it.
bool lives_on(Emulator& e, const Executable& executable);
/// A launch is about to be queued: calls behind it may name what it will allocate, once. Which
/// addresses that are; where there is no room now, the launch will say so.
std::vector<Address> announce(Emulator& e, const Steps& steps);
/// It was not queued after all.
void take_back(Emulator& e, const std::vector<Address>& announced);
/// INVALID_VALUE where nothing is allocated at the address.
CUresult free_node_memory(Emulator& e, Address address);

}  // namespace cuvmm::emulator
