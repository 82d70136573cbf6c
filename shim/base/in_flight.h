// SPDX-License-Identifier: Apache-2.0
// The call that a thread is making now. If the driver dies in the call, the report names the call.
#pragma once

#include <cstdint>

#include "api/calls.h"
#include "rulebook/base/violation.h"
#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// An InFlight lives on the stack of the wrapper.
struct InFlight {
  const void* call = nullptr;
  Call (*box)(const void* call) = nullptr;  ///< the call as a variant
  const Violations* violations = nullptr;
  const Origin* origin = nullptr;
  /// The caller lives on the stack of the wrapper as well, or in the thread's runtime call. A
  /// reference, because a copy right after its two halves were written would wait for both writes.
  const Caller& caller;
};

/// The calling thread's call, or null. While it is set, calls from inside of the driver (which may
/// use its own exported functions) are forwarded unchecked.
inline InFlight*& in_flight() noexcept { return t_state.in_flight; }

/// Marks the calling thread as inside a call, for its scope.
class InFlightScope {
 public:
  explicit InFlightScope(InFlight& call) { in_flight() = &call; }
  InFlightScope(const InFlightScope&) = delete;
  InFlightScope& operator=(const InFlightScope&) = delete;
  ~InFlightScope() { in_flight() = nullptr; }
};

}  // namespace cuvmm::shim
