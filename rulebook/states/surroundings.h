// SPDX-License-Identifier: Apache-2.0
// What a state of the model may look at and write beside its own objects.
#pragma once

#include "rulebook/base/platform.h"
#include "rulebook/objects/change.h"
#include "rulebook/objects/ending.h"
#include "rulebook/objects/tombstones.h"
#include "rulebook/states/unicast_state.h"

namespace cuvmm {

/// Lent to the verbs of a state for one call.
struct Surroundings {
  Tombstones& tombstones;   ///< objects that have ended
  EndsMeanwhile& ends;      ///< what ended while a context was ending
  const UnicastState& vmm;  ///< is asked first, so it shows what the call does to allocations
  const Platform& platform;
};

}  // namespace cuvmm
