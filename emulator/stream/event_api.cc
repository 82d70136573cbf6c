// SPDX-License-Identifier: Apache-2.0
// Events.
#include <chrono>

#include "emulator/base/mutation.h"
#include "emulator/capture/captured.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"

namespace cuvmm::emulator {

namespace {

template <class Body>
CUresult on_event(CUevent handle, Body&& body) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    Event* event = e.streams.find(handle);
    return event ? body(e, *event) : e.streams.no_event(handle);
  });
}

// Queues a record, which is complete when the stream reaches it.
CUresult queue_record(Emulator& e, CUevent handle, Event& event, CUstream stream) {
  const auto lane = lane_of(e, stream);
  // A default stream without a context has no work, and a captured record is work of a launch.
  if (!lane || e.captures.of(stream) || forgets("event-record"))
    return event.work = 0, CUDA_SUCCESS;
  event.work = e.queues.add_record(*lane, [handle](Emulator& at) {
    if (Event* recorded = at.streams.find(handle)) recorded->at = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  });
  // Other processes do not see work that this process has queued.
  if (event.flags & CU_EVENT_INTERPROCESS) return e.queues.finish(e, {event.work});
  return CUDA_SUCCESS;
}

CUresult record_event(CUevent handle, CUstream stream, unsigned flags) noexcept {
  return on_event(handle, [&](Emulator& e, Event& event) -> CUresult {
    if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
    const Stream* const named = Streams::is_default(stream) ? nullptr : e.streams.find(stream);
    if (!Streams::is_default(stream) && !named) return e.streams.no_stream(stream);
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
      Capture* const capture = e.captures.of(stream);
      return capture ? captured_external_event(*capture, handle, true, stream)
                     : CUDA_ERROR_ILLEGAL_STATE;  // recorded
    }
    // cuda.h: event and stream are of one context. A launched graph records its own events.
    const Context* const context = named ? named->context : e.current_context();
    const bool elsewhere = context && event.context && event.context != context;
    if (elsewhere && !Queues::inside()) return CUDA_ERROR_INVALID_HANDLE;
    e.captures.recorded(handle, stream);
    event.recorded = true;
    if (Queues::late() && !Queues::inside()) return queue_record(e, handle, event, stream);
    event.at = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  });
}

CUresult unfinished(Emulator& e, const Event& event) {
  const CUresult fault = event.context->fault;
  const auto pending = e.queues.pending(event.work);
  if (pending.empty()) return fault;
  e.queues.polled(e, pending);
  return CUDA_ERROR_NOT_READY;
}

// Looks up both events under one lock, because on_event() twice would take the lock twice.
CUresult elapsed(float* milliseconds, CUevent from, CUevent to) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const Event* start = e.streams.find(from);
    const Event* end = e.streams.find(to);
    if (!start || !end) return e.streams.no_event(start ? to : from);
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    const unsigned untimed = CU_EVENT_DISABLE_TIMING;
    const bool of_one = start->context == end->context;  // an H100
    if (!of_one || !start->recorded || !end->recorded || ((start->flags | end->flags) & untimed)) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    for (const Event* each : {start, end}) {
      const auto pending = e.queues.pending(each->work);
      if (pending.empty()) continue;
      e.queues.polled(e, pending);
      return CUDA_ERROR_NOT_READY;
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
    constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    const bool timed = (call.Flags & kShared) == CU_EVENT_INTERPROCESS;  // no process could tell
    if (!call.phEvent || (call.Flags & ~kKnown) || timed) return CUDA_ERROR_INVALID_VALUE;
    *call.phEvent = e.streams.create_event(&context, call.Flags);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::EventDestroy& call) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    const Event* const event = e.streams.find(call.hEvent);
    if (!event) return e.streams.no_event(call.hEvent);
    if (event->context && event->context->fault != CUDA_SUCCESS) return event->context->fault;
    e.streams.destroy(call.hEvent);
    e.captures.forget(call.hEvent);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::EventRecord& call) noexcept {
  return record_event(call.hEvent, call.hStream, 0);
}

CUresult run_base(const calls::EventRecordWithFlags& call) noexcept {
  return record_event(call.hEvent, call.hStream, call.flags);
}

CUresult run_base(const calls::EventQuery& call) noexcept {
  return on_event(call.hEvent, [&](Emulator& e, Event& event) -> CUresult {
    const bool looks = Captures::any() || e.captures.outlived(call.hEvent);
    const CUresult refused = looks ? e.captures.refuse_event(call.hEvent) : CUDA_SUCCESS;
    return refused == CUDA_SUCCESS ? unfinished(e, event) : refused;
  });
}

CUresult run_base(const calls::EventSynchronize& call) noexcept {
  return on_event(call.hEvent, [&](Emulator& e, Event& event) -> CUresult {
    const Context& context = *event.context;
    if (e.captures.outlived(call.hEvent)) return CUDA_ERROR_INVALID_VALUE;
    if (forgets("event-sync")) return CUDA_SUCCESS;
    const CUresult result = e.queues.finish(e, e.queues.pending(event.work));
    return result == CUDA_SUCCESS ? context.fault : result;
  });
}

CUresult run_base(const calls::EventElapsedTime& call) noexcept {
  return elapsed(call.pMilliseconds, call.hStart, call.hEnd);
}

}  // namespace cuvmm::emulator
