// Events: recorded is completed.
#include <chrono>

#include "emulator/entry.h"
#include "emulator/export.h"

namespace cuvmm::emulator {

namespace {

template <class Body>
CUresult on_event(CUevent handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
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

CUVMM_DRIVER_FUNCTION(cuEventCreate, CUevent* event, unsigned flags) {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    constexpr unsigned kKnown =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!event || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    *event = e.streams.create_event(&context, flags);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuEventDestroy_v2, CUevent event) {
  return locked([&](Emulator& e) -> CUresult {
    return e.streams.destroy(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUVMM_DRIVER_FUNCTION(cuEventRecord, CUevent event, CUstream stream) {
  return record_event(event, stream, 0);
}
CUVMM_DRIVER_ALIAS(cuEventRecord_ptsz, cuEventRecord);

CUVMM_DRIVER_FUNCTION(cuEventRecordWithFlags, CUevent event, CUstream stream, unsigned flags) {
  return record_event(event, stream, flags);
}
CUVMM_DRIVER_ALIAS(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);

CUVMM_DRIVER_FUNCTION(cuEventQuery, CUevent event) {
  return on_event(event, [](Emulator&, Event&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuEventSynchronize, CUevent event) {
  return on_event(event, [](Emulator&, Event&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuEventElapsedTime, float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
CUVMM_DRIVER_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);

}  // namespace cuvmm::emulator
