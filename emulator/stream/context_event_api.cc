// SPDX-License-Identifier: Apache-2.0
// Events that stand for all streams of a context, or that all of them wait for.
#include <chrono>
#include <vector>

#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"

namespace cuvmm::emulator {

namespace {

// The streams of a context, its default streams included. A green context has no other default
// streams than its primary context here.
std::vector<CUstream> all_streams(const Emulator& e, const Context& context) {
  std::vector<CUstream> out = e.streams.of(context);
  if (!context.shares && e.current_context() == &context)
    out.insert(out.end(), {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD});
  return out;
}

Context* context_of(Emulator& e, CUcontext handle) { return e.contexts.find_itself(handle); }
Context* context_of(Emulator& e, CUgreenCtx handle) { return e.contexts.find(handle); }

// Runs body(e, context, event, streams) unless a stream of the context captures: then the captures
// become invalid (an H200).
template <class Handle, class Body>
CUresult with_event(Handle handle, CUevent event, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Context* const context = context_of(e, handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    Event* const found = e.streams.find(event);
    if (!found) return e.streams.no_event(event);
    const std::vector<CUstream> streams = all_streams(e, *context);
    bool captures = false;
    for (CUstream stream : streams) {
      Capture* const capture = e.captures.of(stream);
      if (capture) capture->invalidate();
      captures |= capture != nullptr;
    }
    return captures ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : body(e, *context, *found, streams);
  });
}

template <class Handle>
CUresult record(Handle handle, CUevent event) noexcept {
  const auto queue = [event](Emulator& e, Context& context, const auto& streams) {
    // A stream that nothing else uses waits for all that the others have.
    const Lane own{context.owner(), reinterpret_cast<CUstream>(&context), Lane::Kind::kNonBlocking};
    for (CUstream stream : streams) {
      for (const WorkId id : e.queues.pending(*lane_of(e, stream))) e.queues.add_wait(own, id);
    }
    return e.queues.add_record(own, [event](Emulator& at) {
      if (Event* found = at.streams.find(event)) found->at = std::chrono::steady_clock::now();
      return CUDA_SUCCESS;
    });
  };
  return with_event(handle, event,
                    [&](Emulator& e, Context& context, Event& found, const auto& streams) {
                      if (found.context != context.owner()) return CUDA_ERROR_INVALID_HANDLE;
                      found.recorded = true;
                      found.at = std::chrono::steady_clock::now();
                      if (Queues::late() && !Queues::inside())
                        found.work = queue(e, context, streams);
                      return CUDA_SUCCESS;
                    });
}

// Streams that are made later do not wait here.
template <class Handle>
CUresult wait(Handle handle, CUevent event) noexcept {
  return with_event(handle, event,
                    [](Emulator& e, Context&, const Event& found, const auto& streams) {
                      if (e.queues.done(found.work)) return CUDA_SUCCESS;
                      for (CUstream stream : streams)
                        e.queues.add_wait(*lane_of(e, stream), found.work);
                      return CUDA_SUCCESS;
                    });
}

}  // namespace

CUresult run_base(const calls::CtxRecordEvent& call) noexcept {
  return record(call.hCtx, call.hEvent);
}
CUresult run_base(const calls::CtxWaitEvent& call) noexcept { return wait(call.hCtx, call.hEvent); }
CUresult run_base(const calls::GreenCtxRecordEvent& call) noexcept {
  return record(call.hCtx, call.hEvent);
}
CUresult run_base(const calls::GreenCtxWaitEvent& call) noexcept {
  return wait(call.hCtx, call.hEvent);
}

}  // namespace cuvmm::emulator
