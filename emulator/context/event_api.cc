// SPDX-License-Identifier: Apache-2.0
// Events: recorded is completed.
#include <chrono>

#include "emulator/entry/base.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {

namespace {

template <class Body>
CUresult on_event(CUevent handle, Body&& body) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    Event* event = e.streams.find(handle);
    return event ? body(e, *event) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult record_event(CUevent handle, CUstream stream, unsigned flags) noexcept {
  return on_event(handle, [&](Emulator& e, Event& event) -> CUresult {
    if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    event.recorded = true;
    event.at = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  });
}

// A thread's two events may be looked up under one lock; hence not two on_event().
CUresult elapsed(float* milliseconds, CUevent from, CUevent to) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const Event* start = e.streams.find(from);
    const Event* end = e.streams.find(to);
    if (!start || !end) return CUDA_ERROR_INVALID_HANDLE;
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    const unsigned untimed = CU_EVENT_DISABLE_TIMING;
    if (!start->recorded || !end->recorded || ((start->flags | end->flags) & untimed)) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult run_base(const calls::EventCreate& call) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    constexpr unsigned kKnown =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!call.phEvent || (call.Flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    *call.phEvent = e.streams.create_event(&context, call.Flags);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::EventDestroy& call) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    return e.streams.destroy(call.hEvent) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult run_base(const calls::EventRecord& call) noexcept {
  return record_event(call.hEvent, call.hStream, 0);
}

CUVMM_DRIVER_FUNCTION(cuEventRecordWithFlags, CUevent event, CUstream stream, unsigned flags) {
  return record_event(event, stream, flags);
}
CUVMM_DRIVER_ALIAS(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);

CUVMM_DRIVER_FUNCTION(cuEventQuery, CUevent event) {
  return on_event(event, [&](Emulator& e, Event&) -> CUresult {
    return Captures::any() ? e.captures.refuse_event(event) : CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::EventSynchronize& call) noexcept {
  return on_event(call.hEvent, [](Emulator&, Event&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuEventElapsedTime, float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
CUVMM_DRIVER_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);

}  // namespace cuvmm::emulator
