// SPDX-License-Identifier: Apache-2.0
// Memory that nodes of executable graphs use, and whose owner has ended since. A node keeps the
// address that it was made with, and not the memory.
#pragma once

#include <cuda.h>

#include <optional>
#include <span>
#include <vector>

#include "rulebook/order/check_graph.h"

namespace cuvmm {

/// A use by a node of an executable graph, and the memory that was at the address when the node was
/// made.
struct OwnedUse {
  CUgraphNode node = nullptr;
  GraphOrder::Use use;
  ObjectRef owner;
  Origin captured;           ///< the call that a capture made the node of; call 0: unknown
  bool page_locked = false;  ///< the owner was page-locked memory of the host in that moment
  bool registered = false;   ///< and the program's own, registered
};

/// Nothing if the model knows no memory there, now or before, or if a kernel's address may mean the
/// memory beside it: the end of memory, or an element before memory. What the program gave as
/// memory of the host always has a use: where the model does not know the memory, no call made its
/// owner.
std::optional<OwnedUse> owned_use(const Model& model, const GraphOrder::Use& use,
                                  const Origin& captured);

/// The use, with the end of its memory; nothing if the memory lives, if the model does not know how
/// it ended, or if there is other memory at the address now. Registered memory ends with its
/// registration here: the caller knows whether the host still has it.
std::optional<OwnedUse> ended_use(const Model& model, const OwnedUse& one);

/// The launch of a graph that uses memory which has ended, or memory of the host that the host
/// cannot read: one violation stands for all the uses, and its message names the first. `ended`:
/// from ended_use(), or uses of such memory of the host; not empty.
Violation launch_of_ended(std::span<const OwnedUse> ended);

}  // namespace cuvmm
