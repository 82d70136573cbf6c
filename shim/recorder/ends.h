// SPDX-License-Identifier: Apache-2.0
// Notes objects of the model in the ring of the last calls: those that a call ended, and those that
// live.
#pragma once

#include "rulebook/model/model.h"
#include "shim/recorder/recorded_call.h"

namespace cuvmm::shim {

void note_each_end(const Retired& retired, Origin at) noexcept;
// One object that the call `at` ended, while the ring has an image.
[[gnu::hot]] void note_end(const Reservation& ended, Origin at) noexcept;
[[gnu::hot]] void note_end(const Mapping& ended, Origin at) noexcept;
[[gnu::hot]] void note_end(const Allocation& ended, Origin at) noexcept;

/// Notes the objects that the calling thread's call `at` gave up, after the driver accepted the
/// call.
template <class CallStruct>
inline void note_ends(const Retired& retired, Origin at) noexcept {
  if (!g_last_calls.image()) return;
  // The calls of a block's life nearly always end one object, of a kind that the call tells.
  if constexpr (std::is_same_v<CallStruct, calls::MemUnmap>) {
    if (const Mapping* const only = retired.mappings.only()) [[likely]]
      return note_end(*only, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemAddressFree>) {
    if (const Reservation* const only = retired.reservations.only()) [[likely]]
      return note_end(*only, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemRelease>) {
    if (!retired.released) return;
    if (const Allocation* const only = retired.allocations.only()) [[likely]]
      return note_end(*only, at);
  }
  note_each_end(retired, at);
}

/// Notes all objects that have an address.
void note_living(const Model& model) noexcept;

}  // namespace cuvmm::shim
