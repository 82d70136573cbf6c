// SPDX-License-Identifier: Apache-2.0
// Parts of the path of one intercepted call (shim/session/session_run.h) that need no session.
#pragma once

#include "api/symbols/symbols.h"
#include "shim/policy/policies.h"
#include "shim/policy/wait_policy.h"
#include "shim/queued_work/queued_work.h"
#include "shim/session/call_observer.h"

namespace cuvmm::shim {

namespace detail {

/// run() takes the session's lock after the driver has answered; the call's number is drawn under
/// that lock.
template <class CallStruct>
inline constexpr bool kNumberedLate = kPlatformOnly<CallStruct>&& kMakes<CallStruct>;

/// The memory that a call touches; null for calls that touch none.
template <class CallStruct>
const Touched* touched_by(const Step<CallStruct>& step) {
  if constexpr (kTouches<CallStruct>) return &step.state;
  return nullptr;
}

/// Notes whether the call counts for the default stream of its thread, where that matters.
template <class CallStruct>
void note_per_thread(Symbol symbol, Step<CallStruct>& step) {
  if constexpr (kRefusesLegacyStream<CallStruct> || kAllocatesInOrder<CallStruct> ||
                std::is_same_v<CallStruct, calls::MemFreeAsync>) {
    if (is_per_thread(symbol)) step.facts.write().place.per_thread = true;
  }
}

/// Whether a capture records the call, a fill whose memory the program may still map. `enforce`:
/// the shim would answer the call itself.
template <class CallStruct>
bool captured_fill(const QueuedWork& work, const CallStruct& call, Step<CallStruct>& step,
                   bool enforce) {
  if constexpr (kFillsLater<CallStruct>) {
    if (step.violations.empty()) [[likely]]
      return false;
    const bool captured = work.may_be_captured(call.hStream);
    if (captured && enforce) forget_mapping(step.violations);
    return captured;
  }
  return false;
}

/// The driver accepted the call: tells the queued work.
template <class CallStruct, class Awaited>
void note_accepted(QueuedWork& work, const CallStruct& call, const Awaited& by_the_way) {
  if constexpr (kMayWaitForAll<CallStruct>) work.tell(by_the_way);
  if constexpr (requires { shared_by(call); }) work.share(shared_by(call));
}

/// Makes the call for an observer. Reads errno before the clock, which may change it.
template <class CallStruct, class Function>
CUresult invoke_timed(const CallStruct& call, Function function, CallMoment& moment,
                      int& driver_errno) {
  moment.began = CallObserver::now();
  const CUresult result = call.invoke(function);
  driver_errno = t_state.error();
  moment.ended = CallObserver::now();
  return result;
}

}  // namespace detail

}  // namespace cuvmm::shim
