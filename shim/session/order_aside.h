// SPDX-License-Identifier: Apache-2.0
// Calls of area `order` beside queued work: what follows captures and graphs, and why the driver
// refused a call. Part of shim/session/order_run.h.
#pragma once

#include <optional>
#include <utility>

#include "shim/base/runtime_call.h"
#include "shim/policy/order_policy.h"
#include "shim/refusals/captures.h"
#include "shim/session/capture_cause.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

/// Keeps the arguments of a refused call, and the likely reason, for the report.
template <class CallStruct>
[[gnu::cold, gnu::noinline]] void describe_refused(Session& session, const CallStruct& call,
                                                   CUresult result) noexcept {
  if (!says_something(result)) return;
  try {
    session.describe_refusal(name(CallStruct::kEntryPoint), result, given_arguments(Call(call)));
  } catch (...) {
    // Out of memory: then the report shows no arguments.
  }
}

/// The violation of a record that the driver refused: event and stream are of two contexts. Asks
/// the driver for the stream's context.
[[gnu::cold]] Violations recorded_elsewhere(const Driver& driver, const Questions& ask,
                                            CUevent event, CUstream stream);

// Looks for an explanation of a refusal: an ended object that the call names, or the memory that a
// node's new parameters touch.
template <class CallStruct>
void Session::explain_order(const CallStruct& call, CUresult result, Violations ended,
                            const Caller& caller) {
  if constexpr (kRecordsEvent<CallStruct>) {
    if (ended.empty() && result == info(Rule::kEventContext).code)
      ended = recorded_elsewhere(driver_, work_.questions(), call.hEvent, call.hStream);
  }
  if (ended.empty() && result == info(Rule::kDataAlive).code) {
    Touch list[kMaxTouches];
    if constexpr (requires { call.copyParams; }) {
      ended = explain_refusal(list, touches(calls::Memcpy3D{call.copyParams}, list));
    } else if constexpr (requires { call.memsetParams; }) {
      if (call.memsetParams) {
        ended = explain_refusal(list, touches(fill_of(*call.memsetParams), list));
      }
    } else if constexpr (kReadsGraph<CallStruct>) {
      ended = explain_graph(call.hGraph);
    }
  }
  if (ended.empty()) return describe_refused(*this, call, result);
  Origin here;
  number(here);
  report(Call(call), std::move(ended), {.result = result}, here.call, capture_stack(caller));
}

template <class CallStruct>
inline bool Session::looks_aside() const {
  if constexpr (kLaunchesGraph<CallStruct>) {
    if (work_.graphs().any_allocates()) return true;
  }
  return work_.captures() || kSetsNode<CallStruct> || kReadsGraph<CallStruct>;
}

template <class CallStruct>
CUresult Session::order_aside(Symbol symbol, const CallStruct& call,
                              typename CallStruct::Function function, const Caller& direct,
                              Violations ended) {
  const RuntimeCall* const runtime = runtime_call();
  const Caller& caller = runtime ? runtime->caller : direct;
  const Origin unknown;
  InFlight here{&call, [](const void* c) { return Call(*static_cast<const CallStruct*>(c)); },
                &ended, &unknown, caller};
  std::optional<InFlightScope> scope;
  if (!ended.empty()) scope.emplace(here);
  const CUresult result = call.invoke(function);
  scope.reset();
  int& program_errno = t_state.error();
  const int driver_errno = program_errno;
  try {
    follow_captures(call, is_per_thread(symbol), result, caller);
    if (result != CUDA_SUCCESS) explain_order(call, result, std::move(ended), caller);
  } catch (...) {
    turn_off();
  }
  program_errno = driver_errno;
  return result;
}

template <class CallStruct>
void Session::follow_captures(const CallStruct& call, bool per_thread, CUresult result,
                              const Caller& caller) {
  if (forbidden_by_capture(result)) {
    const Call boxed(call);
    return CaptureCause::report(*this, boxed, stream_of_call(boxed, per_thread), result, caller);
  }
  const bool good = result == CUDA_SUCCESS;
  if constexpr (kBeginsCapture<CallStruct>) {
    if (good) {
      CaptureCause::begin(*this, stream_number(call.hStream, per_thread), call.mode, caller);
    }
  } else if constexpr (std::is_same_v<CallStruct, calls::StreamEndCapture>) {
    CaptureCause::end(*this, stream_number(call.hStream, per_thread), result);
  } else if constexpr (kRecordsEvent<CallStruct>) {
    // The record of an external event is a node: the launches of the graph record it.
    const std::uint64_t stream = stream_number(call.hStream, per_thread);
    if (good) {
      CaptureCause::note_record(*this, call.hEvent, records_outside(call) ? 0 : stream, caller);
    }
  } else if constexpr (std::is_same_v<CallStruct, calls::EventDestroy>) {
    if (good) CaptureCause::note_record(*this, call.hEvent, 0, caller);
  } else if constexpr (kAsksEvent<CallStruct>) {
    if (!good) CaptureCause::explain_event(*this, Call(call), result, caller);
  } else if constexpr (kLaunches<CallStruct>) {
    if (good && open_captures_.load(std::memory_order_relaxed)) {
      Origin here;
      CaptureCause::note_call(*this, stream_number(order_stream(call), per_thread), here, caller);
    }
  } else if constexpr (kLaunchesGraph<CallStruct>) {
    if (result == CUDA_SUCCESS) {
      if (work_.graphs().any_allocates()) note_graph_launch(call.hGraphExec, caller);
    } else if (result == info(Rule::kGraphMemoryFreed).code) {
      explain_relaunch(Call(call), call.hGraphExec, result, caller);
    }
  }
}

}  // namespace cuvmm::shim
