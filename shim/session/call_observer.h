// SPDX-License-Identifier: Apache-2.0
// The interface by which the trace sees the calls of a session.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "api/calls.h"

namespace cuvmm::shim {

/// Which call an observer sees, and when the call was in the driver: nanoseconds of CLOCK_BOOTTIME.
struct CallMoment {
  std::uint64_t number = 0;  ///< 0: calls of this kind have no number
  std::uint64_t began = 0, ended = 0;
};

/// Sees calls after the driver's answer (the trace). The session calls it without a lock.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void after(const Call& call, CUresult result, const CallMoment& moment) = 0;
  [[gnu::cold]] static std::uint64_t now() noexcept;
};

}  // namespace cuvmm::shim
