// SPDX-License-Identifier: Apache-2.0
// Queued work that uses memory which a call takes away.
#pragma once

#include <cstdint>

#include "rulebook/violation.h"

namespace cuvmm {

struct FoundWork {
  /// How sure it is that the work meets the end of its memory. Never mixed.
  enum class State : std::uint8_t {
    kInFlight,       ///< it is known to be unfinished
    kMayBeInFlight,  ///< its stream is busy, maybe with what was queued behind it
    kUnordered,      ///< it happened to be over, but the host never waited for it
  };
  State state = State::kMayBeInFlight;
  const Work* work = nullptr;
  Origin queued;           ///< the call that queued it
  std::uint64_t base = 0;  ///< what it uses of the range: an argument's value, or a copy's range
  std::uint64_t size = 0;  ///< bytes; 0: a pointer, whose extent is not known
};

}  // namespace cuvmm
