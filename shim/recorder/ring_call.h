// SPDX-License-Identifier: Apache-2.0
// One intercepted call in the ring of the last calls.
#pragma once

#include <cstdint>

#include "recorder/last_calls/writer.h"
#include "shim/base/in_flight.h"
#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// The ring of this process. The ring has an image from the first call on if CUVMM_RING names a
/// folder (shim/recorder/last_calls.h).
inline constinit last_calls::Writer g_ring;

/// Notes for its scope that the call is in the driver.
class RingCall {
 public:
  RingCall() = default;
  template <class CallStruct>
  void begin(const CallStruct& call) noexcept {
    // A driver may call its own exported functions: such calls are not the program's.
    if (in_flight()) return;
    sequence_ = g_ring.begin(t_state.ring, CallStruct::kEntryPoint, last_calls::words_of(call));
  }
  RingCall(const RingCall&) = delete;
  RingCall& operator=(const RingCall&) = delete;
  /// Without returned(), the thread was cancelled in the driver.
  ~RingCall() {
    if (sequence_ != 0) [[unlikely]]
      unwound();
  }
  bool begun() const noexcept { return sequence_ != 0; }
  /// Returns the call's sequence number.
  std::uint64_t returned(CUresult result) noexcept {
    const std::uint64_t sequence = sequence_;
    sequence_ = 0;
    g_ring.end(t_state.ring, sequence, static_cast<std::uint32_t>(result));
    return sequence;
  }

 private:
  [[gnu::cold, gnu::noinline]] void unwound() noexcept {
    g_ring.end(t_state.ring, sequence_, last_calls::kUnwound);
  }

  std::uint64_t sequence_ = 0;
};

}  // namespace cuvmm::shim
