// SPDX-License-Identifier: Apache-2.0
#include "shim/session/capture_cause.h"

#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

namespace cuvmm::shim {

namespace {

// Whether a capturing stream has recorded an event: most programs take no lock for their events.
constinit std::atomic<bool> g_recorded_in_capture{false};

// A thread's state has the number only from its first counted call on.
std::uint32_t this_thread() { return static_cast<std::uint32_t>(::gettid()); }

}  // namespace

void CaptureCause::begin(Session& session, std::uint64_t stream, CUstreamCaptureMode mode,
                         const Caller& caller) {
  Causes::Capture capture;
  capture.stream = stream;
  capture.mode = mode;
  session.number(capture.begun);
  capture.thread = capture.begun.thread = this_thread();
  capture.begun.stack = capture_stack(caller);
  const Locked lock(session.mutex_);
  session.history_.causes.begun(capture);
  session.open_captures_.store(true, std::memory_order_relaxed);
}

void CaptureCause::end(Session& session, std::uint64_t stream, CUresult result) {
  const bool lost = result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                    result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (!lost && result != CUDA_SUCCESS) return;
  const Locked lock(session.mutex_);
  session.history_.causes.ended(stream, this_thread());
  if (lost) session.history_.causes.forget_captured_calls();
  session.open_captures_.store(session.history_.causes.capturing(), std::memory_order_relaxed);
}

Violation CaptureCause::forbidden_here(Session& session, EntryPoint entry, CUresult result,
                                       std::uint64_t stream) {
  const bool takes_part = takes_part_in_capture(session.work_.questions(), stream);
  const Locked lock(session.mutex_);
  session.capture_lost_.store(true, std::memory_order_relaxed);
  return forbidden(session.history_.causes, {entry, result, stream, takes_part, this_thread()});
}

void CaptureCause::report(Session& session, const Call& call, std::uint64_t stream, CUresult result,
                          const Caller& caller) noexcept {
  try {
    Violation v = forbidden_here(session, call.entry_point(), result, stream);
    session.report_wrong(call, {.result = result}, {std::move(v)}, session.next_number(), caller);
  } catch (...) {
    session.turn_off();
  }
}

void CaptureCause::report(Session& session, const char* function, CUstream stream, CUresult result,
                          const Caller& caller) noexcept {
  const int entry_errno = errno;
  try {
    Violation v = forbidden_here(session, EntryPoint::kCount, result,
                                 reinterpret_cast<std::uintptr_t>(stream));
    v.message.insert(0, std::string(function) + ": ");
    session.report_wrong({}, {.result = result}, {std::move(v)}, session.next_number(), caller);
  } catch (...) {
    session.turn_off();
  }
  errno = entry_errno;
}

void CaptureCause::note_record(Session& session, CUevent event, std::uint64_t stream,
                               const Caller& caller) {
  Origin here;
  if (session.open_captures_.load(std::memory_order_relaxed) &&
      takes_part_in_capture(session.work_.questions(), stream)) {
    session.number(here);
    here.stack = capture_stack(caller);
    g_recorded_in_capture.store(true, std::memory_order_relaxed);
  }
  if (!g_recorded_in_capture.load(std::memory_order_relaxed)) return;
  const Locked lock(session.mutex_);
  session.history_.causes.recorded(reinterpret_cast<std::uintptr_t>(event), here);
}

void CaptureCause::explain_event(Session& session, const Call& call, CUresult result,
                                 const Caller& caller) {
  std::optional<Violation> found;
  {
    const Locked lock(session.mutex_);
    found = captured_event(session.history_.causes, call, result);
  }
  if (!found) return;
  if (result == CUDA_ERROR_CAPTURED_EVENT)
    session.capture_lost_.store(true, std::memory_order_relaxed);
  session.report_wrong(call, {.result = result}, {std::move(*found)}, session.next_number(),
                       caller);
}

void CaptureCause::note_call(Session& session, std::uint64_t stream, Origin& by,
                             const Caller& caller) noexcept {
  const int entry_errno = errno;
  try {
    CUgraphNode node = captured_node(session.work_.questions(), stream);
    if (!node) return;
    if (by.call == 0) session.number(by);
    if (by.stack == 0) by.stack = capture_stack(caller);
    const Locked lock(session.mutex_);
    session.history_.causes.captured_call(node, by);
  } catch (...) {
    session.turn_off();
  }
  errno = entry_errno;
}

void CaptureCause::forget_calls(Session& session) noexcept {
  const Locked lock(session.mutex_);
  session.history_.causes.forget_captured_calls();
}

}  // namespace cuvmm::shim
