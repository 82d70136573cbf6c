// SPDX-License-Identifier: Apache-2.0
// Streams, and the calls that wait for them.
#include <memory>
#include <utility>

#include "emulator/base/mutation.h"
#include "emulator/capture/captured.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"
#include "emulator/memory/memory_entry.h"

namespace cuvmm::emulator {

namespace {

// Runs body(e, stream) for a live or default stream; a default stream stands for the current
// context.
template <class Body>
CUresult on_stream(CUstream handle, Body&& body) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    if (Streams::is_default(handle)) {
      Stream stream;
      stream.context = e.current_context();
      stream.id = e.streams.id_of_default(handle);
      stream.green = ContextStack::of_this_thread().green();
      return stream.context ? body(e, stream) : CUDA_ERROR_INVALID_CONTEXT;
    }
    const Stream* stream = e.streams.find(handle);
    return stream ? body(e, *stream) : e.streams.no_stream(handle);
  });
}

CUresult create(CUstream* out, unsigned flags, int priority) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!out || (flags & ~unsigned{CU_STREAM_NON_BLOCKING})) return CUDA_ERROR_INVALID_VALUE;
    *out =
        e.streams.create_stream(&context, flags, priority, ContextStack::of_this_thread().green());
    return CUDA_SUCCESS;
  });
}

// Runs body(e, lane) where no capture forbids the call, and there is something to find out.
template <class Body>
CUresult ask(CUstream handle, Body&& body) noexcept {
  return on_stream(handle, [&](Emulator& e, const Stream&) -> CUresult {
    const CUresult refused = Captures::any() ? e.captures.refuse_stream(handle) : CUDA_SUCCESS;
    if (refused != CUDA_SUCCESS || Queues::plain()) return refused;
    return body(e, *lane_of(e, handle));
  });
}

// Queues a wait for the work that the event was recorded after by now, whatever the event is
// recorded for later. A wait on the legacy stream is an action of that stream even if the event's
// work is done, so that blocking streams are ordered by the wait. A wait for an event that was
// never recorded does nothing.
void queue_wait(Emulator& e, CUstream stream, const Event& event) {
  if (forgets("event-wait")) return;
  const bool done = e.queues.done(event.work);
  const bool acts = event.recorded && Queues::late() && !Queues::inside();
  if (done && !acts) return;
  const Lane lane = *lane_of(e, stream);
  if (!done || lane.kind == Lane::Kind::kLegacy) e.queues.add_wait(lane, event.work);
}

}  // namespace

CUresult run_base(const calls::StreamCreate& call) noexcept {
  return create(call.phStream, call.Flags, 0);
}

CUVMM_DRIVER_FUNCTION(cuStreamCreateWithPriority, CUstream* stream, unsigned flags, int priority) {
  return create(stream, flags, clamped_priority(priority));
}

CUresult perform(Emulator& e, const calls::StreamDestroy& call, const Facts&, const Retired&) {
  const Stream* const stream = e.streams.find(call.hStream);
  if (stream && stream->context->fault != CUDA_SUCCESS) return stream->context->fault;
  if (Captures::any()) e.captures.forget(call.hStream);
  return e.streams.destroy(call.hStream) ? CUDA_SUCCESS : e.streams.no_stream(call.hStream);
}

CUresult run_base(const calls::StreamQuery& call) noexcept {
  return ask(call.hStream, [](Emulator& e, const Lane& lane) -> CUresult {
    const auto pending = e.queues.pending(lane);
    if (pending.empty()) return lane.context->fault;
    e.queues.polled(e, pending);
    return CUDA_ERROR_NOT_READY;
  });
}

CUresult run_base(const calls::StreamSynchronize& call) noexcept {
  return ask(call.hStream, [](Emulator& e, const Lane& lane) {
    return forgets("stream-sync") ? CUDA_SUCCESS : wait_for(e, lane);
  });
}

CUresult run_base(const calls::StreamWaitEvent& call) noexcept {
  return on_stream(call.hStream, [&](Emulator& e, const Stream&) -> CUresult {
    if (call.Flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
    const Event* const event = e.streams.find(call.hEvent);
    if (!event) return e.streams.no_event(call.hEvent);
    if (call.Flags & CU_EVENT_WAIT_EXTERNAL) {
      Capture* const capture = e.captures.of(call.hStream);
      return capture ? captured_external_event(*capture, call.hEvent, false, call.hStream)
                     : CUDA_ERROR_ILLEGAL_STATE;  // recorded
    }
    if (Captures::any()) {
      const CUresult refused = e.captures.wait(call.hStream, call.hEvent);
      if (refused != CUDA_SUCCESS || e.captures.of(call.hStream)) return refused;
    }
    queue_wait(e, call.hStream, *event);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuStreamGetPriority, CUstream handle, int* priority) {
  return on_stream(handle, [&](Emulator&, const Stream& stream) -> CUresult {
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = stream.priority;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamGetPriority_ptsz, cuStreamGetPriority);

CUVMM_DRIVER_FUNCTION(cuStreamGetFlags, CUstream handle, unsigned* flags) {
  return on_stream(handle, [&](Emulator& e, const Stream& stream) -> CUresult {
    // An H200 checks the capture first in this query, and in no other query of a stream.
    if (e.captures.of(handle)) return e.captures.refuse_stream(handle);
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = stream.flags;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamGetFlags_ptsz, cuStreamGetFlags);

CUVMM_DRIVER_FUNCTION(cuStreamGetId, CUstream handle, unsigned long long* id) {
  if (!id) return locked([](Emulator&) { return CUDA_ERROR_INVALID_VALUE; });  // an H200
  return on_stream(handle, [&](Emulator&, const Stream& stream) -> CUresult {
    *id = stream.id;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamGetId_ptsz, cuStreamGetId);

CUVMM_DRIVER_FUNCTION(cuStreamGetDevice, CUstream handle, CUdevice* device) {
  return on_stream(handle, [&](Emulator&, const Stream& stream) -> CUresult {
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = stream.context->device;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamGetDevice_ptsz, cuStreamGetDevice);

CUresult run_base(const calls::StreamGetCtx& call) noexcept {
  return on_stream(call.stream, [&](Emulator&, const Stream& stream) -> CUresult {
    if (!call.ctx) return CUDA_ERROR_INVALID_VALUE;
    *call.ctx = (stream.green ? stream.green : stream.context)->handle();
    return CUDA_SUCCESS;
  });
}

// Unlike the first ABI, this one tells the primary context of a green context's stream (an H100).
CUVMM_DRIVER_FUNCTION(cuStreamGetCtx_v2, CUstream handle, CUcontext* context, CUgreenCtx* green) {
  return on_stream(handle, [&](Emulator&, const Stream& stream) -> CUresult {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = stream.context->handle();
    if (green) *green = stream.green ? stream.green->green() : nullptr;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);

// An H200 checks the pointer first, also of a stream that has ended with its context.
CUVMM_DRIVER_FUNCTION(cuStreamIsCapturing, CUstream handle, CUstreamCaptureStatus* status) {
  if (!status) return locked([](Emulator&) { return CUDA_ERROR_INVALID_VALUE; });
  return on_stream(handle, [&](Emulator& e, const Stream&) -> CUresult {
    const bool legacy = reinterpret_cast<std::uintptr_t>(handle) <= 1;
    const CUresult refused = legacy ? e.captures.refuse_legacy(false) : CUDA_SUCCESS;
    if (refused != CUDA_SUCCESS) return refused;
    const Capture* capture = e.captures.of(handle);
    *status = !capture             ? CU_STREAM_CAPTURE_STATUS_NONE
              : capture->invalid() ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

CUVMM_DRIVER_FUNCTION(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode* mode) {
  return locked([&](Emulator&) -> CUresult {
    if (!mode || static_cast<unsigned>(*mode) > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::swap(*mode, Captures::thread_mode());
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::LaunchHostFunc& call) noexcept {
  CUstream handle = call.hStream;
  CUhostFn function = call.fn;
  void* data = call.userData;
  bool captured = false;
  const CUresult result = on_stream(handle, [&](Emulator& e, const Stream&) -> CUresult {
    Capture* capture = e.captures.of(handle);
    if (!capture) return CUDA_SUCCESS;
    if (capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    auto node = std::make_shared<GraphNode>();
    node->type = CU_GRAPH_NODE_TYPE_HOST;
    node->host = function;
    node->data = data;
    capture->add(std::move(node), handle);
    captured = true;
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS || captured) return result;
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  // The documentation lets the function call anything but the driver.
  return locked([&](Emulator& e) {
    const auto call = std::make_shared<HostCall>(reinterpret_cast<const void*>(function),
                                                 [=] { function(data); });
    return submit(e, handle, [call](Emulator& at) { return call_program(at, *call); });
  });
}

CUresult run_base(const calls::LaunchHostFunc_v2& call) noexcept {
  // The mode, which says how a stream waits for the function, makes no difference here.
  if (call.syncMode > 1) return CUDA_ERROR_INVALID_VALUE;
  return run_base(
      calls::LaunchHostFunc{.hStream = call.hStream, .fn = call.fn, .userData = call.userData});
}

CUresult run_base(const calls::StreamAddCallback& call) noexcept {
  CUstream handle = call.hStream;
  CUstreamCallback function = call.callback;
  void* data = call.userData;
  const CUresult result = on_stream(handle, [&](Emulator& e, const Stream&) -> CUresult {
    if (!function || call.flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Capture* const capture = e.captures.of(handle);
    if (!capture) return CUDA_SUCCESS;
    capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
  if (result != CUDA_SUCCESS) return result;
  return locked([&](Emulator& e) -> CUresult {
    const auto status = std::make_shared<CUresult>(CUDA_SUCCESS);
    const auto call = std::make_shared<HostCall>(reinterpret_cast<const void*>(function),
                                                 [=] { function(handle, *status, data); });
    if (!Queues::late() || Queues::inside()) {
      return submit(e, handle, [call](Emulator& at) { return call_program(at, *call); });
    }
    const auto lane = lane_of(e, handle);
    if (!lane) return CUDA_ERROR_INVALID_HANDLE;
    // Unlike a host function, a callback is called after a fault as well, with the fault as its
    // status.
    Context* const context = lane->context;
    e.queues.add_for_certain(*lane, [=, begun = false](Emulator& at) mutable {
      if (!std::exchange(begun, true)) *status = context->fault;
      return call_program(at, *call);
    });
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
