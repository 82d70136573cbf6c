// SPDX-License-Identifier: Apache-2.0
// What a state of the model may look at and write beside its own objects.
#pragma once

#include "rulebook/model/change.h"
#include "rulebook/model/ending.h"
#include "rulebook/model/tombstones.h"
#include "rulebook/model/unicast_state.h"
#include "rulebook/platform.h"

namespace cuvmm {

/// Lent to the verbs of a state for one call.
struct Surroundings {
  Tombstones& tombstones;   ///< objects that have ended
  EndsMeanwhile& ends;      ///< what ended while a context was ending
  const UnicastState& vmm;  ///< is asked first, so it shows what the call does to allocations
  const Platform& platform;
};

}  // namespace cuvmm
