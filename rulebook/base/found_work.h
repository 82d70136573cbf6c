// SPDX-License-Identifier: Apache-2.0
// Queued work that uses memory which a call takes away.
#pragma once

#include <cstdint>

#include "rulebook/base/evidence.h"
#include "rulebook/base/violation.h"

namespace cuvmm {

struct FoundWork {
  /// How sure it is that the work meets the end of its memory. Never mixed.
  enum class State : std::uint8_t {
    kInFlight,       ///< it is known to be unfinished, and to use the memory
    kMayBeInFlight,  ///< its stream is busy, maybe with what was queued behind it; or it is
                     ///< unfinished, but nobody tells whether its argument is an address
    kUnordered,      ///< it happened to be over, but the host never waited for it
  };
  State state = State::kMayBeInFlight;
  const Work* work = nullptr;
  Origin queued;           ///< the call that queued it
  std::uint64_t base = 0;  ///< what it uses of the range: an argument's value, or a copy's range
  std::uint64_t size = 0;  ///< bytes; 0: a pointer, whose extent is not known
  Evidence evidence = Evidence::kByType;  ///< that it uses the range; never kWord
  bool is_end = false;                    ///< `base` is where the memory ends
  bool may_be_end = false;  ///< `base` is where the memory begins, and other memory ends
};

}  // namespace cuvmm
