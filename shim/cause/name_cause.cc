// SPDX-License-Identifier: Apache-2.0
// Refusals whose cause is an earlier call: the finding names that call, and not only the refused
// one.
#include <algorithm>
#include <string>
#include <utility>

#include "api/visit_call.h"
#include "api/words.h"
#include "shim/refusals/surroundings.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

namespace {

std::uint64_t stream_of_call(const Call& call) {
  return visit_call<std::uint64_t>(call, [](const auto& made) -> std::uint64_t {
    if constexpr (requires { made.hStream; }) {
      return reinterpret_cast<std::uintptr_t>(made.hStream);
    } else {
      return 0;
    }
  });
}

const char* words(CUstreamCaptureMode mode) {
  switch (mode) {
    case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL:
      return "thread-local";
    case CU_STREAM_CAPTURE_MODE_RELAXED:
      return "relaxed";
    default:
      return "global";
  }
}

Violation* of_rule(Violations& violations, Rule rule) {
  const auto found =
      std::ranges::find_if(violations, [&](const Violation& v) { return v.rule == rule; });
  return found == violations.end() ? nullptr : &*found;
}

Violation forbidden(CUresult result, const std::optional<Causes::Capture>& capture) {
  const bool legacy = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  std::string text = "a stream captures since a call that cuvmm did not see";
  if (capture) {
    text = "stream " + hex_text(capture->stream) + " captures in " + words(capture->mode) +
           " mode since call " + std::to_string(capture->begun.call);
  }
  text += legacy ? ", and the legacy default stream would wait for it: this call ends the capture"
                 : ", which forbids this call: the call ends the capture";
  Violation v{
      legacy ? Rule::kStreamCaptureLegacy : Rule::kStreamCapture, true, std::move(text), {}};
  if (capture) {
    v.objects.push_back({.kind = ObjectRef::Kind::kCapture,
                         .value = capture->stream,
                         .made = capture->begun,
                         .ended = {}});
  }
  return v;
}

// Explains a map that met another mapping: a call may have mapped at the hint of a reservation that
// lies elsewhere.
void name_hint(const Causes& causes, Violations& violations) {
  Violation* const vacant = of_rule(violations, Rule::kMapVacant);
  if (!vacant || vacant->objects.empty()) return;
  const ObjectRef& taken = vacant->objects.front();
  const auto hint = causes.unmet_before(taken.value, taken.made.call);
  if (!hint) return;
  vacant->message += ", which call " + std::to_string(taken.made.call) +
                     " made at an address that call " + std::to_string(hint->by.call) +
                     " had asked for as a hint, and had not got: its reservation lies at " +
                     hex_text(hint->got);
  vacant->objects.push_back({.kind = ObjectRef::Kind::kReservation,
                             .value = hint->got,
                             .size = hint->size,
                             .made = hint->by,
                             .ended = {}});
}

// Explains a free of memory that belongs to a graph.
void name_node_memory(const Causes& causes, Address address, Violations& violations) {
  Violation* const unknown = of_rule(violations, Rule::kFreeKnown);
  if (!unknown) return;
  const auto known = causes.node_memory(address);
  if (!known) return;
  const auto& [base, memory] = *known;
  unknown->message = hex_text(address) + " is in memory of a graph's allocation node";
  if (memory.captured.call != 0) {
    unknown->message += ", captured by call " + std::to_string(memory.captured.call);
  }
  unknown->message += ": the memory exists from a launch of the graph on, until it is freed once";
  unknown->objects.assign({{.kind = ObjectRef::Kind::kPoolMemory,
                            .value = base,
                            .size = memory.size,
                            .made = memory.captured,
                            .ended = {}}});
}

}  // namespace

void Session::name_cause(const Call& call, CUresult result, Violations& violations) {
  if (result == CUDA_ERROR_NOT_INITIALIZED && forked_from_ != 0) {
    if (Violation* const early = of_rule(violations, Rule::kDriverInitialized)) {
      early->message = "this process was forked from process " + std::to_string(forked_from_) +
                       " after that one's cuInit, so CUDA cannot be used in it; a cuInit here is "
                       "refused as well";
    }
    return;
  }
  if (may_be_hidden(result)) {
    for (Violation& v : violations) v.message += "; " + visible_devices();
  }
  const Locked lock(mutex_);
  const Causes& causes = history_.causes;
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
      result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
    Violation v = forbidden(result, causes.forbids(stream_of_call(call), t_state.thread));
    capture_lost_.store(true, std::memory_order_relaxed);
    violations.push_back(std::move(v));
    return;
  }
  if (call.as<calls::MemMap>()) {
    name_hint(causes, violations);
  } else if (const auto* free = call.as<calls::MemFree>()) {
    name_node_memory(causes, free->dptr, violations);
  } else if (const auto* later = call.as<calls::MemFreeAsync>()) {
    name_node_memory(causes, later->dptr, violations);
  }
}

void Session::begin_capture(CUstream stream, bool per_thread, CUstreamCaptureMode mode,
                            const Caller& caller) {
  Causes::Capture capture;
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  capture.stream = handle == 0 && per_thread ? 2 : handle;
  capture.mode = mode;
  number(capture.begun);
  capture.thread = capture.begun.thread;
  capture.begun.stack = capture_stack(caller);
  const Locked lock(mutex_);
  history_.causes.begun(capture);
}

void Session::end_capture(CUstream stream, bool per_thread) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  const Locked lock(mutex_);
  history_.causes.ended(handle == 0 && per_thread ? 2 : handle, t_state.thread);
}

void Session::report_forbidden(const Call& call, CUresult result, const Caller& caller) noexcept {
  try {
    Origin here;
    number(here);
    Violations found;
    name_cause(call, result, found);
    report(call, std::move(found), {.result = result}, here.call, capture_stack(caller));
  } catch (...) {
    turn_off();
  }
}

void Session::look_before_fork() noexcept {
  int count = 0;
  if (forked_from_ != 0 || in_flight() || mutex_.held_here()) return;
  initialized_ = platform_known_.load() ||
                 driver_(calls::DeviceGetCount{&count}) != CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace cuvmm::shim
