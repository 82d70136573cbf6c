// SPDX-License-Identifier: Apache-2.0
// Queued work that uses memory which a call takes away.
#pragma once

#include <cstdint>

#include "rulebook/base/evidence.h"
#include "rulebook/base/violation.h"

namespace cuvmm {

struct FoundWork {
  /// How certain it is that the work and the end of its memory collide. A message never mixes
  /// these.
  enum class State : std::uint8_t {
    kInFlight,  ///< the work is unfinished and uses the memory, both for certain
    /// The stream is busy, maybe with later work; or the work is unfinished, but it is not known
    /// whether its argument is an address.
    kMayBeInFlight,
    kUnordered,  ///< the work happened to be over, but the host never waited for it
  };
  State state = State::kMayBeInFlight;
  const Work* work = nullptr;
  Origin queued;           ///< the call that queued it
  std::uint64_t base = 0;  ///< the value of an argument, or the start of a copy's range
  std::uint64_t size = 0;  ///< bytes; 0: a pointer, whose extent is not known
  Evidence evidence = Evidence::kByType;  ///< that the work uses the range; never kWord
  bool is_end = false;                    ///< `base` is where the memory ends
  bool may_be_end = false;  ///< `base` is where the memory begins and other memory ends
};

}  // namespace cuvmm
