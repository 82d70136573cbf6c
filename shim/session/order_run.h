// SPDX-License-Identifier: Apache-2.0
// The path of a call that queues work, or orders it: the compiler makes an instance for each
// function. The session checks only the arguments of launches; it notes the memory that the work
// uses after the driver has accepted the call. Part of shim/session/session_run.h.
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <optional>
#include <span>

#include "api/posix/cancel_off.h"
#include "shim/base/runtime_call.h"
#include "shim/objects/ended.h"
#include "shim/policy/order_policy.h"
#include "shim/policy/wait_policy.h"
#include "shim/queued_work/arguments/pointers.h"
#include "shim/session/call_with.h"
#include "shim/session/order_aside.h"

namespace cuvmm::shim {

inline Violations Session::wrong_arguments(CUstream stream, const Pointers& pointers) {
  const ArgumentCache::Asked asked(reinterpret_cast<std::uintptr_t>(stream),
                                   work_.arguments().generation());
  const std::uint64_t all = pointers.fingerprint();
  if (all == 0 || work_.arguments().right().knows(all, asked)) [[likely]]
    return {};
  return wrong_arguments(stream, pointers, asked);
}

inline bool Session::follows(const Touch& touch) const {
  return work_.bounds().near(touch) && (work_.names_memory() || bounds_.near(&touch, 1));
}

/// A driver may die of the call: of a node of the graph, or of an array that is missing.
template <class CallStruct>
inline constexpr bool kMayKill =
    kReadsGraph<CallStruct> || kLaunchesGraph<CallStruct> || kLaunches<CallStruct> ||
    detail::one_of<CallStruct, calls::LibraryLoadData, calls::LibraryLoadFromFile>;

/// The mistakes of a call by which a driver dies.
template <class CallStruct>
Violations deadly_mistakes(const CallStruct& call, QueuedWork& work) {
  ObjectTable& table = object_table();
  if constexpr (kLaunchesGraph<CallStruct>) {
    if (!g_null_semaphores.load(std::memory_order_relaxed)) [[likely]]
      return {};
    const std::uint64_t executable = handle_of(call.hGraphExec);
    return table.executes(executable, KernelNodes::kNullSemaphore)
               ? check_null_semaphore(executable)
               : Violations{};
  } else if constexpr (kReadsGraph<CallStruct>) {
    // Only the driver knows the nodes of captured launches.
    auto unloaded = table.find_unloaded(handle_of(call.hGraph));
    if (!unloaded && table.any_function_ended()) [[unlikely]]
      unloaded = table.find_unloaded(work.node_reader().functions(call.hGraph));
    if (!unloaded) [[likely]]
      return {};
    const std::uint64_t graph = handle_of(call.hGraph);
    if constexpr (kMakesGraph<CallStruct>) {
      return check_graph_code(Rule::kGraphCodeLoaded, graph, *unloaded);
    } else {
      // An H200 leaves a function alone that the executable graph has already.
      if (table.executes(handle_of(call.hGraphExec), unloaded->object.value)) return {};
      return check_graph_code(Rule::kUpdateCodeLoaded, graph, *unloaded);
    }
  } else if constexpr (kLaunches<CallStruct>) {
    // A driver refuses a launch with both, unread.
    void** extra = call.kernelParams ? nullptr : extra_of(call);
    constexpr int kMost = 8;
    for (int i = 0; extra && i < kMost && *extra != CU_LAUNCH_PARAM_END; ++i, extra += 2) {
      if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && !extra[1]) [[unlikely]]
        return check_announced("extra: the size of CU_LAUNCH_PARAM_BUFFER_SIZE", "", 0);
    }
    return {};
  } else {
    if (call.numLibraryOptions == 0 || call.libraryOptions) [[likely]]
      return {};
    return check_announced("libraryOptions", "numLibraryOptions", call.numLibraryOptions);
  }
}

template <class CallStruct>
CUresult Session::order(Symbol symbol, const CallStruct& call,
                        typename CallStruct::Function function, const Caller& direct) {
  if constexpr (kBeginsCapture<CallStruct>) work_.begin_capture();
  if constexpr (kMayKill<CallStruct>) {
    if (Violations deadly = deadly_mistakes(call, work_); !deadly.empty()) [[unlikely]]
      return call_with(CallStruct::kName, std::move(deadly), direct,
                       [&] { return call.invoke(function); });
  }
  Violations ended;
  if constexpr (kNamesObjects<CallStruct>) {
    if (may_name_ended(call)) [[unlikely]]
      ended = ended_objects(call);
  }
  if (!matters<CallStruct>(work_)) [[likely]] {
    if (ended.empty() && !looks_aside<CallStruct>()) [[likely]] {
      const CUresult result = call.invoke(function);
      if (says_something(result)) [[unlikely]] {
        const int driver_errno = t_state.error();
        try {
          const RuntimeCall* const runtime = runtime_call();
          explain_order(call, result, Violations(), runtime ? runtime->caller : direct);
        } catch (...) {
          turn_off();
        }
        t_state.error() = driver_errno;
      }
      return result;
    }
    return order_aside(symbol, call, function, direct, std::move(ended));
  }
  const RuntimeCall* const runtime = runtime_call();
  const Caller& caller = runtime ? runtime->caller : direct;
  int& program_errno = t_state.error();
  const int entry_errno = program_errno;
  Ordering<CallStruct> step;
  InFlight here{&call, [](const void* c) { return Call(*static_cast<const CallStruct*>(c)); },
                ended.empty() ? &step.violations : &ended, &step.origin, caller};
  const InFlightScope scope(here);
  try {
    before_order(call, is_per_thread(symbol), step);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    turn_off();
  }
  program_errno = entry_errno;
  const CUresult result = call.invoke(function);
  const int driver_errno = program_errno;
  try {
    if (looks_aside<CallStruct>()) [[unlikely]]
      follow_captures(call, is_per_thread(symbol), result, caller);
    after_order(call, result, caller, step);
    if (result != CUDA_SUCCESS) explain_order(call, result, std::move(ended), caller);
  } catch (...) {
    turn_off();
  }
  program_errno = driver_errno;
  return result;
}

template <class CallStruct>
void Session::before_order(const CallStruct& call, bool per_thread, Ordering<CallStruct>& step) {
  std::optional<CancelOff> no_cancel;
  // Few launches ask the driver a question, and each question blocks cancellation itself. The
  // exception is the question for the current context, which each launch to a default stream asks.
  // A thread may be cancelled inside of that question; this does no harm, because it may be
  // cancelled inside of the launch as well, and the session has recorded nothing of the launch yet.
  if constexpr (!kLaunches<CallStruct>) no_cancel.emplace();
  if constexpr (kLaunches<CallStruct>) {
    step.ticket = work_.enter(order_stream(call), per_thread, &step.state.event);
    if (!step.ticket || !call.f) return;
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    step.state.layout = &work_.arguments().layouts().of(call.f);
    step.state.pointers.read(*step.state.layout, call.kernelParams, extra_of(call), work_.bounds(),
                             work_.arguments().tensor_maps());
    const auto& pointers = step.state.pointers;
    step.violations = wrong_arguments(order_stream(call), pointers);
    if (work_.allocates()) [[unlikely]] {
      step.violations.append(early_use(step.ticket, "an argument", pointers.memory()));
    }
    each_event(call, [&](CUevent) { step.state.tells = true; });
    if (work_.host().range().size != 0) [[unlikely]] {
      const bool matters = work_.has_pending() || !pointers.empty();
      step.state.tells |=
          matters && gives_host_memory(*step.state.layout, call.kernelParams, extra_of(call));
    }
    if (step.state.tells) [[unlikely]]
      work_.begin_to_tell(step.ticket);
  } else if constexpr (kLaunchesGraph<CallStruct>) {
    if (work_.graphs().any_owned()) step.violations = ended_uses(call.hGraphExec);
    const bool uses_ended = !step.violations.empty();
    if (!work_.active()) return;
    step.ticket = work_.enter(call.hStream, per_thread);
    step.state.graph = step.ticket ? work_.graphs().uses(call.hGraphExec) : nullptr;
    work_.follow_launch(step.ticket, call.hGraphExec);
    // The session does not know whether a graph tells the host something if it has not read the
    // graph.
    if (step.ticket && (!step.state.graph || step.state.graph->tells)) {
      work_.begin_to_tell(step.ticket);
    }
    if (step.ticket && work_.graphs().any_allocates()) {
      step.violations.append(early_free(call.hGraphExec, step.ticket));
    }
    if (!step.state.graph) return;
    const auto& arguments = step.state.graph->arguments;
    for (const Violation& one : wrong_arguments(call.hStream, arguments.data(), arguments.size())) {
      // ended_uses() has named all memory that has ended.
      if (!uses_ended || one.rule != Rule::kLaunchAlive) step.violations.push_back(one);
    }
    if (work_.allocates()) [[unlikely]] {
      step.violations.append(
          early_use(step.ticket, "an address of a node", {{}, *step.state.graph->ranges, true}));
    }
  } else if constexpr (kActsOnStream<CallStruct>) {
    step.ticket = work_.enter(call.hStream, per_thread);
    // The host function may run before the driver has answered the call.
    if (step.ticket && host_wait_of(call) != HostWait{}) work_.begin_to_tell(step.ticket);
  } else if constexpr (kWaits<CallStruct>) {
    step.state = awaited(work_, call, per_thread);
  } else if constexpr (kMovesMap<CallStruct>) {
    if (call.tensorMap) step.state.tensor = work_.arguments().tensor_maps().find(call.tensorMap);
  } else if constexpr (kEndsKnown<CallStruct>) {
    if constexpr (kMayWaitForAll<CallStruct>) step.state = {work_.everything()};
    forget_known(work_, call);
  }
}

template <class CallStruct>
void Session::after_launch(const CallStruct& call, CUresult result, const Caller& caller,
                           Ordering<CallStruct>& step) {
  const auto& state = step.state;
  if constexpr (kLaunches<CallStruct>) {
    if (state.empty() && !state.tells && step.violations.empty()) {
      const Launch given = state.layout ? kind_of(*state.layout) : Launch::kNone;
      return work_.act(step.ticket, given, state.event);
    }
  }
  Use use;
  use.what = kLaunches<CallStruct> ? "kernel" : "graph";
  if (!state.empty() || !step.violations.empty()) {
    number(use.origin);
    use.origin.stack = capture_stack(caller);
  }
  if constexpr (kLaunches<CallStruct>) {
    use.function = state.layout->function;
    const UsedMemory memory = state.pointers.memory();
    use.given_outside = memory.given_outside;
    use.given_structs = memory.given_structs;
    // The kernel may tell the host that it has finished with its memory while it goes on.
    use.sure = !state.tells;
    each_event(call, [&](CUevent event) { work_.record_ahead(step.ticket, event); });
    work_.use(step.ticket, use, memory, kind_of(*state.layout), state.pointers.surest(),
              state.event);
    if (state.tells) [[unlikely]]
      work_.settle(step.ticket, host_waits::kTellsItself, nullptr, 0);
  } else {
    const bool tells = !state.graph || state.graph->tells;
    const bool waits = !state.graph || state.graph->waits;
    use.sure = !tells;
    use.given_outside = true;
    work_.use(step.ticket, use, state.graph ? state.graph->ranges : nullptr);
    work_.note_launch(step.ticket, call.hGraphExec);
    if (work_.graphs().any_allocates()) note_left(call.hGraphExec, step.ticket, use.origin);
    if (tells) work_.settle(step.ticket, host_waits::kTellsItself, nullptr, 0);
    if (waits) work_.hear(step.ticket);
  }
  if (!step.violations.empty()) [[unlikely]] {
    report(Call(call), std::move(step.violations), {.result = result}, use.origin.call,
           use.origin.stack);
  }
}

template <class CallStruct>
void Session::after_order(const CallStruct& call, CUresult result, const Caller& caller,
                          Ordering<CallStruct>& step) {
  const QueuedWork::Telling telling(work_, step.ticket);
  if constexpr (kLaunches<CallStruct>) {
    if (result == CUDA_SUCCESS && step.violations.empty()) [[likely]]
      return after_launch(call, result, caller, step);
  }
  const CancelOff no_cancel;
  if (result != CUDA_SUCCESS) {
    if constexpr (kLaunches<CallStruct> || kLaunchesGraph<CallStruct>) {
      if (!step.violations.empty()) [[unlikely]]
        refused_launch(Call(call), result, step.violations, caller);
    }
    if constexpr (kLaunches<CallStruct>) return work_.cancel(step.ticket, step.state.event);
    return work_.cancel(step.ticket);
  }
  if constexpr (kLaunches<CallStruct> || kLaunchesGraph<CallStruct>) {
    after_launch(call, result, caller, step);
  } else if constexpr (kRecordsEvent<CallStruct>) {
    work_.record(step.ticket, call.hEvent);
  } else if constexpr (kWaitsForEvent<CallStruct>) {
    work_.wait(step.ticket, call.hEvent);
  } else if constexpr (kRecordsContext<CallStruct>) {
    work_.record_context(context_of(call), call.hEvent);
  } else if constexpr (kWaitsInContext<CallStruct>) {
    work_.wait_in_context(context_of(call), call.hEvent);
  } else if constexpr (kActsOnStream<CallStruct>) {
    work_.act(step.ticket);
    work_.settle(step.ticket, host_wait_of(call), nullptr, 0);
  } else if constexpr (kWaits<CallStruct>) {
    work_.over(step.state);
  } else if constexpr (kMakesGraph<CallStruct> || kChangesGraph<CallStruct>) {
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    if constexpr (kMakesGraph<CallStruct>) {
      step.violations = note_graph(*call.phGraphExec, call.hGraph, flags_of(call));
    } else {
      step.violations = check_change(change_graph(work_, call));
    }
    if (step.violations.empty()) [[likely]]
      return;
    number(step.origin);
    report(Call(call), std::move(step.violations), {.result = result}, step.origin.call,
           capture_stack(caller));
  } else if constexpr (kEncodesMap<CallStruct>) {
    work_.arguments().tensor_maps().note(
        call.tensorMap, tensor_range(call.tensorDataType, call.tensorRank, call.globalAddress,
                                     call.globalDim, call.globalStrides, call.interleave));
  } else if constexpr (kMovesMap<CallStruct>) {
    const Size size = step.state.tensor ? step.state.tensor->size : 0;
    work_.arguments().tensor_maps().note(
        call.tensorMap, {reinterpret_cast<std::uintptr_t>(call.globalAddress), size});
  } else if constexpr (kLoadsCode<CallStruct>) {
    learn_code(work_, call);
  } else if constexpr (kUnloads<CallStruct>) {
    // A launch of another thread may have asked for the function's layout again meanwhile.
    forget_known(work_, call);
    work_.tell(step.state);
  }
}

// --- Copies and fills, and other calls that queue something

template <class CallStruct>
WorkEntry<CallStruct> Session::enter_work(Symbol symbol, const CallStruct& call) noexcept {
  if (!work_.active()) [[likely]]
    return {};
  const CancelOff no_cancel;
  try {
    WorkEntry<CallStruct> entry;
    Clock* before = nullptr;
    if constexpr (kStreamless<CallStruct>) before = &entry.before;
    if constexpr (kTouches<CallStruct> && !kStreamless<CallStruct>) {
      entry.on_device = work_.has_pending() && is_on_device(call);
    }
    const bool tells = kMayTell<CallStruct> && !entry.on_device;
    static_cast<QueuedWork::Ticket&>(entry) =
        work_.enter_transfer(stream_of(call), is_per_thread(symbol), tells, before);
    return entry;
  } catch (...) {
    turn_off();
    return {};
  }
}

template <class CallStruct>
bool Session::is_on_device(const CallStruct& call) {
  constexpr TransferForm kForm = kFormOf<CallStruct>;
  static_assert(host_wait(TransferForm::kFillAsync, Place::kDevice, Place::kDevice) == HostWait{} &&
                host_wait(TransferForm::kCopyAsync, Place::kDevice, Place::kDevice) == HostWait{});
  const auto on_device = [this](std::uint64_t side) {
    return side == 0 || is_known_of_a_device(side);
  };
  if constexpr (kForm != TransferForm::kFillAsync && kForm != TransferForm::kCopyAsync)
    return false;
  const Sides sides = sides_of(call);
  return on_device(sides.to) && (kForm == TransferForm::kFillAsync || on_device(sides.from));
}

template <class CallStruct>
void Session::leave_work(const CallStruct& call, const WorkEntry<CallStruct>& ticket,
                         CUresult result, const Touched* touched, const Caller& caller) noexcept {
  if constexpr (kTouches<CallStruct>) {
    // The common case asks the driver nothing.
    const std::span list(touched->list, touched->count);
    const auto followed = [this](const Touch& touch) { return follows(touch); };
    const bool quiet = result == CUDA_SUCCESS && (ticket.on_device || !work_.has_pending()) &&
                       !work_.allocates() && std::ranges::none_of(list, followed);
    if (quiet) [[likely]] {
      try {
        return work_.pass(ticket, {}, nullptr);
      } catch (...) {
        return turn_off();
      }
    }
  }
  const CancelOff no_cancel;
  try {
    const QueuedWork::Telling telling(work_, ticket);
    if (result != CUDA_SUCCESS) return work_.cancel(ticket);
    // The array is as short as this call allows, because its initialisers write each element.
    constexpr std::size_t kMost = kTouches<CallStruct> ? kMaxTouches : kMostRangesOfACopy;
    UsedRange ranges[kMost];
    std::size_t count = 0;
    Violations early;
    const auto note = [&](const Touch& touch) {
      const UsedRange range = extent(touch);
      if (range.size == 0 || count == kMost) return;
      if (work_.allocates() && early.empty()) {
        early = early_use(ticket, touch.parameter, {{}, {&range, 1}});
      }
      if (!follows(touch)) return;
      ranges[count++] = range;
    };
    if constexpr (kTouches<CallStruct>) {
      for (std::size_t i = 0; i < touched->count; ++i) note(touched->list[i]);
    } else if constexpr (kBatch<CallStruct>) {
      for (std::size_t i = 0; i < operations(call); ++i) {
        const Operation one = operation(call, i);
        for (std::size_t k = 0; k < one.count; ++k) note(one.list[k]);
      }
    }
    const HostWait wait = count != 0 || work_.has_pending() ? wait_of(call) : HostWait{};
    Position own = 0;
    if constexpr (kAllocatesInOrder<CallStruct>) {
      work_.allocate(ticket, {{*call.dptr, call.bytesize}, last_number() + 1});
    } else if (count == 0) {
      work_.act(ticket);
    } else {
      Use use;
      const bool fills = touched && touched->count != 0 && touched->list[0].fill;
      use.what = fills ? "fill" : kTouches<CallStruct> ? "copy" : "batch";
      number(use.origin);
      use.origin.stack = capture_stack(caller);
      // A thread that polls the bytes which a GPU writes may know that the copy is over before the
      // copy's stream does. In the emulator both happen at one moment, except for the operations of
      // a batch.
      const bool tells = wait.grade == HostWait::Grade::kTells;
      const bool one_moment = kTouches<CallStruct> && options_.emulated;
      use.waited = wait.what == HostWait::For::kItself && !(tells && one_moment);
      use.sure = !(use.waited && tells);
      use.host_may_look = tells && kTouches<CallStruct>;
      own = work_.use(ticket, use, {{}, {ranges, count}});
      if (!early.empty()) [[unlikely]] {
        report(Call(call), std::move(early), {.result = result}, use.origin.call, use.origin.stack);
      }
    }
    const Clock* before = nullptr;
    if constexpr (kStreamless<CallStruct>) before = &ticket.before;
    work_.settle(ticket, wait, before, own);
    if (hears(call)) work_.hear(ticket);
    if (work_.has_pending() && brings_words(call)) work_.tell_beside(ticket);
  } catch (...) {
    turn_off();
  }
}

// Whether the call copies few bytes to the host: some other work may tell the host by such a word
// how far it is.
template <class CallStruct>
bool Session::brings_words(const CallStruct& call) {
  const auto brings = [&](std::size_t bytes, const Sides& sides) {
    const bool little = bytes != 0 && bytes <= kMostWordsOfACopy;
    return little && sides.to != 0 && !is_of_a_device(sides.to);
  };
  if constexpr (kTouches<CallStruct>) {
    if constexpr (kFormOf<CallStruct> == TransferForm::kCopy ||
                  kFormOf<CallStruct> == TransferForm::kCopyAsync) {
      Touch list[kMaxTouches];
      const std::size_t count = touches(call, list);
      return count != 0 && brings(extent(list[0]).size, sides_of(call));
    }
    return false;
  } else if constexpr (kCopies<CallStruct>) {
    const std::size_t count = std::min(operations(call), kMostCopiesAskedFor);
    for (std::size_t i = 0; i < count; ++i) {
      const Operation one = operation(call, i);
      if (one.count != 0 && brings(extent(one.list[0]).size, sides_of(one))) return true;
    }
    return false;
  } else {
    return false;
  }
}

// The earlier work that the host knows to be over after the call succeeded.
template <class CallStruct>
HostWait Session::wait_of(const CallStruct& call) {
  if constexpr (kTouches<CallStruct>) {
    return transfer_wait(kFormOf<CallStruct>, sides_of(call));
  } else if constexpr (kCopies<CallStruct>) {
    // The documentation speaks of single copies only.
    const std::size_t count = operations(call);
    HostWait widest;
    if (count > kMostCopiesAskedFor) widest.what = HostWait::For::kItself;
    for (std::size_t i = 0; i < count && i < kMostCopiesAskedFor; ++i) {
      const HostWait one = transfer_wait(kFormOf<CallStruct>, sides_of(operation(call, i)));
      widest.what = std::max(widest.what, one.what);
    }
    if (widest.what != HostWait::For::kNothing) widest.grade = HostWait::Grade::kMayWait;
    return widest;
  } else {
    HostWait wait = host_wait_of(call);
    if constexpr (kBatch<CallStruct>) {
      // A word in memory of the host is over for the host as soon as the operation writes it.
      const std::size_t count = operations(call);
      for (std::size_t i = 0; wait.what == HostWait::For::kBefore && i < count; ++i) {
        if (!is_of_a_device(sides_of(operation(call, i)).to)) wait.what = HostWait::For::kItself;
      }
    }
    return wait;
  }
}

}  // namespace cuvmm::shim
