// SPDX-License-Identifier: Apache-2.0
// The path of one intercepted call, top to bottom: the compiler makes an instance for each
// intercepted function. The special parts of a function are in its policy (shim/policy/).
#pragma once

#include <optional>
#include <utility>

#include "api/default_stream.h"
#include "api/lost_context.h"
#include "api/symbols/symbols.h"
#include "shim/base/ending.h"
#include "shim/base/runtime_call.h"
#include "shim/objects/ended.h"
#include "shim/policy/policies.h"
#include "shim/policy/unknown_handles.h"
#include "shim/recorder/ends.h"
#include "shim/session/order_run.h"
#include "shim/session/run_parts.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

template <class CallStruct>
inline bool Session::near_reservations(const CallStruct& batch) const {
  const std::size_t count = operations(batch);
  for (std::size_t i = 0; i < count; ++i) {
    const Operation one = operation(batch, i);
    if (bounds_.near(one.list, one.count)) return true;
  }
  return false;
}

template <class CallStruct>
[[gnu::always_inline]] inline void Session::note_success(Symbol symbol, const CallStruct& call,
                                                         Step<CallStruct>& step,
                                                         const Caller& caller) {
  after(call, step);
  note_captured(symbol, call, step.origin, caller);
  if (probes_wait_.load(std::memory_order_relaxed)) [[unlikely]]
    fell_back(CallStruct::kEntryPoint, {purpose_of(call), wanted_size(call)});
}

template <class CallStruct>
inline CUresult Session::run_here(Symbol symbol, const CallStruct& call, const Caller& direct) {
  const auto function = reinterpret_cast<typename CallStruct::Function>(driver_.get(symbol));
  if (!function) [[unlikely]]
    return CUDA_ERROR_NOT_FOUND;
  if (in_flight() || off()) [[unlikely]]
    return call.invoke(function);
  if constexpr (kOrdersWork<CallStruct>) return order(symbol, call, function, direct);
  const Caller& caller = program_caller(direct);
  int& program_errno = t_state.error();
  const int entry_errno = program_errno;
  CallObserver* const observer = observer_.load(std::memory_order_acquire);
  counter_.add(CallStruct::kEntryPoint);
  Step<CallStruct> step;
  detail::note_per_thread(symbol, step);
  bool named_ended = false;
  const bool lost_pages = may_name_lost_pages(call, work_.losing_pages());
  if constexpr (kNamesObjects<CallStruct>) named_ended = may_name_ended(call);
  if constexpr (kTouches<CallStruct>) {
    step.state.count = touches(call, step.state.list);
    const bool far = !bounds_.near(step.state) && !named_ended && !lost_pages && !uses_array(call);
    if (far && !observer) return run_far(symbol, call, function, step, caller);
  }
  InFlight here{&call, [](const void* c) { return Call(*static_cast<const CallStruct*>(c)); },
                &step.violations, &step.origin, caller};
  const InFlightScope scope(here);
  try {
    before(call, step);
    if (lost_pages) [[unlikely]]
      step.violations.append(lost_host_memory(Call(call), stream_of(call)));
    if constexpr (kNamesObjects<CallStruct>) {
      if (named_ended) [[unlikely]]
        step.violations.append(ended_objects(call));
    }
  } catch (...) {
    turn_off();
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemPoolDestroy>) pool_questions_.wait();
  const bool captured = detail::captured_fill(work_, call, step, options_.enforce);
  [[maybe_unused]] WorkEntry<CallStruct> ticket;
  if constexpr (kQueues<CallStruct>) ticket = enter_work(symbol, call);
  [[maybe_unused]] AwaitedByTheWay<CallStruct> by_the_way;
  if constexpr (kMayWaitForAll<CallStruct>) by_the_way = awaited_by_the_way(work_, call);
  CUresult result = CUDA_SUCCESS;  // no Answer, because two variables fit into registers
  bool enforced = false;
  if (options_.enforce) [[unlikely]] {
    Answer own;
    enforce(step.violations, own);
    result = own.result;
    enforced = own.enforced;
  }
  CallMoment moment;
  int driver_errno = entry_errno;
  if (!enforced) [[likely]] {
    program_errno = entry_errno;
    if (!observer) [[likely]] {
      result = call.invoke(function);
      driver_errno = program_errno;
    } else {
      result = detail::invoke_timed(call, function, moment, driver_errno);
    }
  }
  if constexpr (kQueues<CallStruct>) {
    if (ticket) [[unlikely]]
      leave_work(call, ticket, result, detail::touched_by(step), caller);
  }
  try {
    if (result == CUDA_SUCCESS) [[likely]] {
      if (captured) [[unlikely]]
        forget_mapping(step.violations);
      detail::note_accepted(work_, call, by_the_way);
      note_success(symbol, call, step, caller);
    }
    if (result != CUDA_SUCCESS || !step.violations.empty() || observer) [[unlikely]]
      conclude(call, {.result = result, .enforced = enforced}, step, caller, observer, moment);
  } catch (...) {
    turn_off();
  }
  program_errno = driver_errno;
  return result;
}

template <class CallStruct, class Function>
inline CUresult Session::run_far(Symbol symbol, const CallStruct& call, Function function,
                                 Step<CallStruct>& step, const Caller& caller) {
  int& program_errno = t_state.error();
  const int entry_errno = program_errno;
  const auto ticket = enter_work(symbol, call);
  program_errno = entry_errno;
  const CUresult result = call.invoke(function);
  if (ticket) [[unlikely]] {
    const int driver_errno = program_errno;
    leave_work(call, ticket, result, &step.state, caller);
    program_errno = driver_errno;
  }
  // The session reports only one thing of a copy that touches no reservation: the driver refused
  // it, and why.
  if (result != CUDA_SUCCESS) [[unlikely]] {
    report_far_refusal(call, result, step, caller);
  } else {
    note_captured(symbol, call, step.origin, caller);
  }
  return result;
}

template <class CallStruct>
inline void Session::note_captured(Symbol symbol, const CallStruct& call, Origin& by,
                                   const Caller& caller) {
  // Most calls are of no interest for captures. They must not even ask, because a condition with
  // nothing behind it makes GCC take the code after it for cold.
  if constexpr (std::is_same_v<CallStruct, calls::StreamDestroy>) {
    if (open_captures_.load(std::memory_order_relaxed)) [[unlikely]]
      CaptureCause::forget_calls(*this);
  } else if constexpr (requires { call.hStream; }) {
    if (open_captures_.load(std::memory_order_relaxed)) [[unlikely]]
      CaptureCause::note_call(*this, stream_number(call.hStream, is_per_thread(symbol)), by,
                              caller);
  } else if constexpr (requires { call.stream; }) {
    if (open_captures_.load(std::memory_order_relaxed)) [[unlikely]]
      CaptureCause::note_call(*this, stream_number(call.stream, is_per_thread(symbol)), by, caller);
  }
}

// --- Before the driver's call

template <class CallStruct>
void Session::before(const CallStruct& call, Step<CallStruct>& step) {
  if (!platform_known_.load(std::memory_order_acquire)) [[unlikely]]
    learn_platform(step.facts.write());
  if constexpr (kNamesMaker<CallStruct>) {
    constexpr auto kTag = static_cast<FunctionTag>(CallStruct::kEntryPoint) + 1;
    step.origin.stack = capture_maker(in_flight()->caller, kTag, CallStruct::kName);
  }
  if constexpr (requires(PolicyResources resources) {
                  Policy<CallStruct>::ask(resources, call, step);
                }) {
    PolicyResources lent = policy_resources();
    Policy<CallStruct>::ask(lent, call, step);
  }
  if constexpr (kTouches<CallStruct>) {
    find_devices(step.state, stream_of(call), step.facts.write().place);
  }
  if constexpr (kBatch<CallStruct>) {
    if (near_reservations(call) || uses_array(call)) {
      facts_.find_device(stream_of(call), false, step.facts.write().place);
    } else if constexpr (!kAsksAnyway<CallStruct>) {
      // As for single copies that are not near: the session takes the lock and draws a number only
      // if the arguments are wrong.
      step.violations = check_arguments(call, step.facts.read());
      if (step.violations.empty()) [[likely]]
        return;
      const Locked lock(mutex_);
      number(step.origin);
      return;
    }
  }

  if constexpr (kPlatformOnly<CallStruct>) {
    // The platform was read once, before this flag was set, and never changes.
    if (platform_known_.load(std::memory_order_acquire)) [[likely]] {
      step.violations = check_call(call, step);
      if constexpr (detail::kNumberedLate<CallStruct>) {
        if (step.violations.empty()) [[likely]]
          return;
      }
      const Locked lock(mutex_);
      number(step.origin);
      return;
    }
  }
  const Locked lock(mutex_);
  number(step.origin);
  if constexpr (kHistoryAtOnce<CallStruct> || RecordsAtOnce<CallStruct>) {
    work_.arguments().model_changed();
  }
  look_up_unknown(call, step.facts);
  step.violations = check_call(call, step);
  if constexpr (kUsesArrays<CallStruct>) {
    each_array_use(call, [&](const ArrayUse* uses, std::size_t count) CUVMM_UNCHECKED {
      step.violations.append(check_array_uses(history_.model, uses, count));
    });
  }
  if constexpr (kGivesUp<CallStruct>) {
    // A call that the driver is to refuse gives nothing up, because another thread may be at work
    // with the object.
    if (!step.violations.empty()) [[unlikely]] {
      if (options_.enforce && first_to_enforce(step.violations)) return;
      if (first_to_refuse(step.violations)) return;
    }
    history_.model.begin(call, step.origin, step.change);
    mirror<true>(call, step);
    note_change(call, step);
  } else if constexpr (RecordsAtOnce<CallStruct>) {
    if (step.violations.empty()) {
      history_.model.begin(call, step.origin, step.change);
      mirror(call, step);
      if (step.change.done) note_change(call, step);
    }
  }
}

// Mirrors the change that the call has just made in the model. `kTaken`: the call only took an
// object out.
template <bool kTaken, class CallStruct>
void Session::mirror(const CallStruct& call, const Step<CallStruct>& step) {
  if (!mirror_.on()) [[likely]]
    return;
  if constexpr (kTaken && kHistoryAtOnce<CallStruct>) {
    return mirror_.show_taken(history_, call, step.change, step.origin);
  }
  if constexpr (kGivesUp<CallStruct>) mirror_.show_again(history_, step.change, step.origin);
  if constexpr (kMakes<CallStruct> || RecordsAtOnce<CallStruct>) {
    mirror_.show_made(history_, call, step.origin);
  }
  if constexpr (requires { call.mcHandle; }) {
    if constexpr (std::is_pointer_v<decltype(call.mcHandle)>) {
      mirror_.show_team(history_, *call.mcHandle);
    } else {
      mirror_.show_team(history_, call.mcHandle);
    }
  }
}

// Notes the change for the pictures of the run, once for each call.
template <class CallStruct>
void Session::note_change(const CallStruct& call, const Step<CallStruct>& step) {
  if (!timeline_.on()) [[likely]]
    return;
  if constexpr (kGivesUp<CallStruct>) timeline_.add_retired(call, step.change, step.origin);
  if constexpr (kMakes<CallStruct> || RecordsAtOnce<CallStruct>) {
    timeline_.add_made(history_, call, step.origin);
  }
}

template <class CallStruct>
void Session::undo(const CallStruct& call, Step<CallStruct>& step) {
  history_.model.undo(call, step.origin, step.change);
  mirror(call, step);
  if (timeline_.on()) timeline_.mark_undone(step.origin);
}

template <class CallStruct>
void Session::look_up_unknown(const CallStruct& call, LateFacts& facts) {
  if (const auto handle = unknown_handle(history_.model, call)) [[unlikely]]
    ask_about(*handle, facts.write());
  CUmemoryPool pool = unknown_pool(history_.model, call);
  if (pool) [[unlikely]]
    ask_about(pool, facts.write());
  if constexpr (requires(PolicyResources resources) {
                  Policy<CallStruct>::look(resources, call, facts);
                }) {
    PolicyResources lent = policy_resources();
    Policy<CallStruct>::look(lent, call, facts);
  }
}

template <class CallStruct>
Violations Session::check_call(const CallStruct& call, const Step<CallStruct>& step) const {
  if constexpr (kTouches<CallStruct>) {
    return check_touches(history_.model, CallStruct::kEntryPoint, step.state.list, step.state.count,
                         step.facts.read());
  } else {
    return check(history_.model, call, step.facts.read());
  }
}

// --- The driver accepted

template <class CallStruct>
void Session::after([[maybe_unused]] const CallStruct& call,
                    [[maybe_unused]] Step<CallStruct>& step) {
  using Special = Policy<CallStruct>;
  // Nothing is left to do if the call's change was recorded before the driver's call.
  if constexpr (kHistoryAtOnce<CallStruct>) {
    if (step.change.begun) [[likely]]
      return note_ends<CallStruct>(step.change, step.origin);
  }
  if constexpr (RecordsAtOnce<CallStruct>) {
    if (step.change.done) [[likely]]
      return;
  }
  if constexpr (kGivesUp<CallStruct> || kMakes<CallStruct>) {
    PolicyResources lent = policy_resources();
    if constexpr (requires { Special::ended_nothing(lent, call); }) {
      if (Special::ended_nothing(lent, call)) {
        const Locked lock(mutex_);
        return undo(call, step);
      }
    }
    if constexpr (requires { Special::made(lent, call, step); }) Special::made(lent, call, step);
    const Locked lock(mutex_);
    if constexpr (detail::kNumberedLate<CallStruct>) {
      if (step.origin.call == 0) [[likely]]
        number(step.origin);
    }
    [[maybe_unused]] bool noted = false;
    if constexpr (kGivesUp<CallStruct>) {
      noted = step.change.begun;
      work_.arguments().model_changed();
    }
    history_.model.confirm(call, step.facts.read(), step.origin, step.change);
    if constexpr (requires { Special::record(lent, call, step); }) {
      Special::record(lent, call, step);
    }
    mirror(call, step);
    if (!noted) note_change(call, step);
  }
  if constexpr (kGivesUp<CallStruct>) note_ends<CallStruct>(step.change, step.origin);
}

template <class CallStruct>
void Session::conclude(const CallStruct& call, const Answer& answer, Step<CallStruct>& step,
                       const Caller& caller, CallObserver* observer, CallMoment moment) {
  const bool was_refused = answer.result != CUDA_SUCCESS && !answer.enforced;
  if (was_refused) {
    refused(call, answer.result, step);
    if (step.origin.call == 0) number(step.origin);
    name_cause(Call(call), answer.result, step.violations);
  }
  const bool explained =
      !step.violations.empty() && report(Call(call), std::move(step.violations), answer,
                                         step.origin.call, capture_stack(caller));
  if (was_refused && !explained) {
    note_refusal(Call(call), answer.result, step.origin.call, capture_stack(caller));
  }
  if constexpr (!EndsContext<CallStruct> && !kUntraced<CallStruct>) {
    moment.number = step.origin.call;
    if (observer) observer->after(Call(call), answer.result, moment);
  }
}

// --- The driver refused

template <class CallStruct>
void Session::refused(const CallStruct& call, CUresult result, Step<CallStruct>& step) {
  if constexpr (detail::kNumberedLate<CallStruct>) {
    const Locked lock(mutex_);
    if (step.origin.call == 0) number(step.origin);
  }
  // After the driver's own end the session judges nothing, and removes the object that the program
  // meant to give up, because the program's destructors go on with the next object.
  const bool over = result == CUDA_ERROR_DEINITIALIZED;
  // Work of earlier calls has failed and taken the context along: the answer says nothing about
  // what the call gives up, and the program does not see the object again.
  const bool lost = kGivesUp<CallStruct> && loses_context(result);
  if (over || lost) step.violations = {};
  if (over) {
    driver_ended_.store(true, std::memory_order_relaxed);
    // Without cuvmm the process would end before its other threads act on this answer.
    g_ending.wait_for_report();
  }
  if constexpr (kGivesUp<CallStruct> || RecordsAtOnce<CallStruct>) {
    if (!(over || lost) || RecordsAtOnce<CallStruct>) {
      const Locked lock(mutex_);
      undo(call, step);
    }
  }
  if constexpr (requires { call.hStream; }) {
    if (step.violations.empty() && result == info(Rule::kStreamAlive).code) {
      step.violations = explain_stream(call.hStream);
    }
  }
  if (result == CUDA_ERROR_NOT_INITIALIZED) {
    recheck_uninitialized(call, step);
  } else if constexpr (kTouches<CallStruct> || kBatch<CallStruct> || kNamesRanges<CallStruct>) {
    // Other codes have other reasons, such as a thread without a context.
    if (step.violations.empty() && result == info(Rule::kDataMapped).code) {
      explain_refusal(call, step);
    }
  }
}

template <class CallStruct>
void Session::explain_refusal(const CallStruct& call, Step<CallStruct>& step) {
  if constexpr (kTouches<CallStruct>) {
    CUstream on = stream_of(call);
    step.violations = explain_refusal(step.state.list, step.state.count, &on);
    for (std::size_t i = 0; i < step.state.count && step.violations.empty(); ++i) {
      step.violations = explain_graph_memory(step.state.list[i]);
    }
  } else if constexpr (kBatch<CallStruct>) {
    const std::size_t count = operations(call);
    for (std::size_t i = 0; i < count && step.violations.empty(); ++i) {
      const Operation one = operation(call, i);
      step.violations = explain_refusal(one.list, one.count);
      for (std::size_t k = 0; k < one.count && step.violations.empty(); ++k) {
        step.violations = explain_graph_memory(one.list[k]);
      }
      for (Violation& v : step.violations) v.message.insert(0, operation_name(call, i));
    }
  }
  each_range(call, [&](const Touch& touch) {
    if (step.violations.empty()) step.violations = explain_refusal(&touch, 1);
    if (step.violations.empty()) step.violations = explain_graph_memory(touch);
  });
}

template <class CallStruct>
void Session::report_far_refusal(const CallStruct& call, CUresult result, Step<CallStruct>& step,
                                 const Caller& caller) noexcept {
  const int entry_errno = errno;
  try {
    // Memory among reservations: the program may have meant one of them.
    const bool among = bounds_.spans(step.state);
    {
      const Locked lock(mutex_);
      number(step.origin);
      if (among) step.violations = check_call(call, step);
    }
    refused(call, result, step);
    name_cause(Call(call), result, step.violations);
    // A real driver that survives a destroyed stream's handle has given the handle out again in a
    // call that the session did not see.
    if (!options_.emulated && !among) {
      step.violations.erase_if([](const Violation& v) { return v.rule == Rule::kStreamAlive; });
    }
    const StackId stack = among || !step.violations.empty() ? capture_stack(caller) : 0;
    const bool explained =
        !step.violations.empty() &&
        report(Call(call), std::move(step.violations), {.result = result}, step.origin.call, stack);
    if (among && !explained) {
      note_refusal(Call(call), result, step.origin.call, stack);
    } else if (!explained) {
      describe_refused(*this, call, result);
    }
  } catch (...) {
    turn_off();
  }
  errno = entry_errno;
}

template <class CallStruct>
void Session::recheck_uninitialized(const CallStruct& call, Step<CallStruct>& step) {
  step.facts.write().initialized = Facts::Answer::kNo;
  const Locked lock(mutex_);
  if (step.origin.call == 0) number(step.origin);
  // Only this violation is reported, because the driver looked at none of the arguments.
  step.violations = check_call(call, step);
}

}  // namespace cuvmm::shim
