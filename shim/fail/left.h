// SPDX-License-Identifier: Apache-2.0
// What a process still has when it ends, by the calls that made it.
#pragma once

#include <vector>

#include "rulebook/violation.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

/// All that the program made and has not ended: reservations, allocations, mappings outside of
/// them, exported descriptors that are open, plain memory. Empty where the model cannot be looked
/// at.
std::vector<ObjectRef> objects_left(Session& session);

}  // namespace cuvmm::shim
