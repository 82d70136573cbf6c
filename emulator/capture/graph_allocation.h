// SPDX-License-Identifier: Apache-2.0
// The effects of allocation and free nodes at a launch.
#pragma once

#include <optional>
#include <vector>

#include "emulator/core/emulator.h"
#include "emulator/objects/executable.h"

namespace cuvmm::emulator {

/// INVALID_VALUE where the program never freed the memory of the last launch.
CUresult allocate(Emulator& e, const NodeMemory& memory);
/// Whether memory of an earlier launch lives that this launch would not free first. The caller has
/// made sure that no queued work might free it.
bool lives_on(Emulator& e, const Executable& executable);
/// Called before a launch is queued: calls after it may name the memory that it will allocate,
/// once. Returns the addresses of that memory. Where memory has run out now, the launch itself will
/// fail.
std::vector<Address> announce(Emulator& e, const Steps& steps);
/// Whether a free node frees memory that no launch has allocated, or that was freed since. The
/// caller has made sure that no queued work might allocate it. What a driver answers was not asked.
bool frees_nothing(Emulator& e, const Executable& executable);
/// Called before a launch is queued that frees memory of other graphs: nothing may free the memory
/// a second time. Returns its addresses; nothing where a free of the memory is queued already.
std::optional<std::vector<Address>> announce_frees(Emulator& e, const Steps& steps);
/// Undoes announce_frees() for a launch that could not be queued.
void take_back_frees(Emulator& e, const std::vector<Address>& announced);
/// Undoes announce() for a launch that could not be queued.
void take_back(Emulator& e, const std::vector<Address>& announced);
/// INVALID_VALUE where no memory is allocated at the address.
CUresult free_node_memory(Emulator& e, Address address);
/// Whether an allocation node has this address, or memory of a graph that has ended lives there.
/// Each graph may free it, also before the graph that allocates it was launched (an H100).
bool is_of_a_graph(const Emulator& e, Address address);

/// The memory of an allocation node with these dependencies. A driver gives it the address of other
/// memory of the graph that is freed before it, in all launches (recorded). Null: no address is
/// left.
std::shared_ptr<NodeMemory> memory_for(Emulator& e, const GraphNodes& nodes,
                                       const std::vector<GraphNode*>& before, Size size,
                                       const Pool& pool);

}  // namespace cuvmm::emulator
