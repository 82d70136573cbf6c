// SPDX-License-Identifier: Apache-2.0
// Objects outside of a state that the state may read and write.
#pragma once

#include "rulebook/base/platform.h"
#include "rulebook/objects/change.h"
#include "rulebook/objects/ending.h"
#include "rulebook/objects/tombstones.h"
#include "rulebook/states/unicast_state.h"

namespace cuvmm {

/// The verbs of a state get this for one call.
struct Surroundings {
  Tombstones& tombstones;  ///< objects that have ended
  EndsMeanwhile& ends;     ///< objects that other calls ended while a call was ending a context
  /// Its verbs run first, so it already shows the call's effect on allocations.
  const UnicastState& vmm;
  const Platform& platform;
};

}  // namespace cuvmm
