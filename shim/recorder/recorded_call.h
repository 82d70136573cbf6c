// SPDX-License-Identifier: Apache-2.0
// One intercepted call in the ring of the last calls.
#pragma once

#include <cstdint>

#include "recorder/last_calls/writer.h"
#include "shim/base/call_hooks.h"
#include "shim/base/in_flight.h"
#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// The ring of this process. The ring has an image from the first call on if CUVMM_RING names a
/// folder (shim/recorder/last_calls.h).
inline constexpr last_calls::Writer& g_last_calls = g_hooks.last_calls;

/// Notes for its scope that the call is in the driver.
class RecordedCall {
 public:
  RecordedCall() = default;
  template <class CallStruct>
  void begin(const CallStruct& call) noexcept {
    // A driver may call its own exported functions: such calls are not the program's.
    if (in_flight()) return;
    sequence_ =
        g_last_calls.begin(t_state.call_place, CallStruct::kEntryPoint, last_calls::words_of(call));
  }
  /// begin(), inlined.
  template <class CallStruct>
  [[gnu::always_inline]] void begin_here(const CallStruct& call) noexcept {
    if (in_flight()) return;
    sequence_ = g_last_calls.begin_here(t_state.call_place, CallStruct::kEntryPoint,
                                        last_calls::words_of(call));
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;
  /// Without returned(), the thread was cancelled in the driver.
  ~RecordedCall() {
    if (sequence_ != 0) [[unlikely]]
      unwound();
  }
  bool begun() const noexcept { return sequence_ != 0; }
  /// Returns the call's sequence number.
  std::uint64_t returned(CUresult result) noexcept {
    const std::uint64_t sequence = sequence_;
    sequence_ = 0;
    g_last_calls.end(t_state.call_place, sequence, static_cast<std::uint32_t>(result));
    return sequence;
  }

 private:
  [[gnu::cold, gnu::noinline]] void unwound() noexcept {
    g_last_calls.end(t_state.call_place, sequence_, last_calls::kUnwound);
  }

  std::uint64_t sequence_ = 0;
};

}  // namespace cuvmm::shim
