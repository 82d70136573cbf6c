// SPDX-License-Identifier: Apache-2.0
// Objects of the model for the ring of the last calls: those that a call ended, and those that
// live.
#pragma once

#include "rulebook/model/model.h"
#include "shim/recorder/ring_call.h"

namespace cuvmm::shim {

[[gnu::cold]] void tell_ends(const Retired& gone, Origin at) noexcept;

/// What the calling thread's call `at` gave up and the driver accepted.
inline void note_ends(const Retired& gone, Origin at) noexcept {
  if (g_ring.image()) [[unlikely]]
    tell_ends(gone, at);
}

/// All that has an address.
void note_living(const Model& model) noexcept;

}  // namespace cuvmm::shim
