// SPDX-License-Identifier: Apache-2.0
// Notes objects of the model in the ring of the last calls: those that a call ended, and those that
// live.
#pragma once

#include "rulebook/model/model.h"
#include "shim/recorder/recorded_call.h"

namespace cuvmm::shim {

[[gnu::hot]] void note_each_end(const Retired& retired, Origin at) noexcept;

/// Notes the objects that the calling thread's call `at` gave up, after the driver accepted the
/// call.
inline void note_ends(const Retired& retired, Origin at) noexcept {
  if (g_last_calls.image()) note_each_end(retired, at);
}

/// Notes all objects that have an address.
void note_living(const Model& model) noexcept;

}  // namespace cuvmm::shim
