// SPDX-License-Identifier: Apache-2.0
// The life of a call that queues work, or orders it: one instance per function. Nothing is checked
// but what launches are given; what the work uses is noted once the driver has accepted it. Part of
// shim/session/session_run.h.
#pragma once

#include "shim/intercept/runtime_call.h"
#include "shim/policy/order_policy.h"
#include "shim/session/session.h"
#include "shim/work/arguments/pointers.h"

namespace cuvmm::shim {

template <class CallStruct>
CUresult Session::order(Symbol symbol, const CallStruct& call,
                        typename CallStruct::Function function, const Caller& direct) {
  if constexpr (kBeginsCapture<CallStruct>) work_.begin_capture();
  if (!matters<CallStruct>(work_)) [[likely]]
    return call.invoke(function);
  const RuntimeCall* const runtime = runtime_call();
  const Caller& caller = runtime ? runtime->caller : direct;
  int& program_errno = t_state.error();
  const int entry_errno = program_errno;
  Ordering<CallStruct> step;
  InFlight here{&call, [](const void* c) { return Call(*static_cast<const CallStruct*>(c)); },
                &step.violations, &step.origin, caller};
  const InFlightScope scope(here);
  try {
    before_order(call, is_per_thread(symbol), step);
  } catch (...) {
    turn_off();
  }
  program_errno = entry_errno;
  const CUresult result = call.invoke(function);
  const int driver_errno = program_errno;
  try {
    after_order(call, result, caller, step);
  } catch (...) {
    turn_off();
  }
  program_errno = driver_errno;
  return result;
}

template <class CallStruct>
void Session::before_order(const CallStruct& call, bool per_thread, Ordering<CallStruct>& step) {
  if constexpr (kLaunches<CallStruct>) {
    step.ticket = work_.enter(order_stream(call), per_thread, &step.kept.event);
    if (!step.ticket || !call.f) return;
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    step.kept.layout = &work_.layouts().of(call.f);
    step.kept.pointers.read(*step.kept.layout, call.kernelParams, extra_of(call), work_.bounds(),
                            work_.tensor_maps());
    const auto& pointers = step.kept.pointers;
    step.violations = wrong_arguments(order_stream(call), pointers);
    if (work_.allocates()) [[unlikely]] {
      step.violations.append(early_use(step.ticket, "an argument", pointers.memory()));
    }
  } else if constexpr (kLaunchesGraph<CallStruct>) {
    step.ticket = work_.enter(call.hStream, per_thread);
    step.kept.graph = step.ticket ? work_.graph(call.hGraphExec) : nullptr;
    if (!step.kept.graph) return;
    const auto& arguments = step.kept.graph->arguments;
    step.violations = wrong_arguments(call.hStream, arguments.data(), arguments.size());
    if (work_.allocates()) [[unlikely]] {
      step.violations.append(
          early_use(step.ticket, "an address of a node", {{}, *step.kept.graph->ranges}));
    }
  } else if constexpr (kActsOnStream<CallStruct>) {
    step.ticket = work_.enter(call.hStream, per_thread);
  } else if constexpr (kWaits<CallStruct>) {
    step.kept = awaited(work_, call, per_thread);
  } else if constexpr (kMovesMap<CallStruct>) {
    if (call.tensorMap) step.kept.tensor = work_.tensor_maps().find(call.tensorMap);
  } else if constexpr (kEndsKnown<CallStruct>) {
    forget_known(work_, call);
  }
}

template <class CallStruct>
void Session::after_order(const CallStruct& call, CUresult result, const Caller& caller,
                          Ordering<CallStruct>& step) {
  if (result != CUDA_SUCCESS) {
    if constexpr (kLaunches<CallStruct> || kLaunchesGraph<CallStruct>) {
      if (!step.violations.empty()) [[unlikely]]
        refused_launch(Call(call), result, step.violations, caller);
    }
    if constexpr (kLaunches<CallStruct>) return work_.cancel(step.ticket, step.kept.event);
    return work_.cancel(step.ticket);
  }
  if constexpr (kLaunches<CallStruct> || kLaunchesGraph<CallStruct>) {
    const auto& kept = step.kept;
    Use use;
    use.what = kLaunches<CallStruct> ? "kernel" : "graph";
    if (!kept.empty() || !step.violations.empty()) {
      number(use.origin);
      use.origin.stack = capture_stack(caller);
    }
    if constexpr (kLaunches<CallStruct>) {
      if (!kept.layout) return work_.act(step.ticket, Launch::kNone, kept.event);
      use.function = kept.layout->function;
      work_.use(step.ticket, use, kept.pointers.memory(),
                kept.layout->hidden ? Launch::kHidden : Launch::kPlain, kept.pointers.surest(),
                kept.event);
    } else if (kept.graph) {
      use.sure = !kept.graph->tells;
      work_.use(step.ticket, use, kept.graph->ranges);
    } else {
      work_.act(step.ticket);
    }
    if (!step.violations.empty()) [[unlikely]] {
      report(Call(call), std::move(step.violations), {.result = result}, use.origin.call,
             use.origin.stack);
    }
  } else if constexpr (kRecordsEvent<CallStruct>) {
    work_.record(step.ticket, call.hEvent);
  } else if constexpr (kWaitsForEvent<CallStruct>) {
    work_.wait(step.ticket, call.hEvent);
  } else if constexpr (kActsOnStream<CallStruct>) {
    work_.act(step.ticket);
  } else if constexpr (kWaits<CallStruct>) {
    work_.over(step.kept);
  } else if constexpr (kMakesGraph<CallStruct> || kChangesGraph<CallStruct>) {
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    if constexpr (kMakesGraph<CallStruct>) {
      step.violations = note_graph(*call.phGraphExec, call.hGraph);
    } else {
      step.violations = check_change(change_graph(work_, call));
    }
    if (step.violations.empty()) [[likely]]
      return;
    number(step.origin);
    report(Call(call), std::move(step.violations), {.result = result}, step.origin.call,
           capture_stack(caller));
  } else if constexpr (kEncodesMap<CallStruct>) {
    work_.tensor_maps().note(call.tensorMap,
                             tensor_range(call.tensorDataType, call.tensorRank, call.globalAddress,
                                          call.globalDim, call.globalStrides, call.interleave));
  } else if constexpr (kMovesMap<CallStruct>) {
    const Size size = step.kept.tensor ? step.kept.tensor->size : 0;
    work_.tensor_maps().note(call.tensorMap,
                             {reinterpret_cast<std::uintptr_t>(call.globalAddress), size});
  } else if constexpr (kLoadsCode<CallStruct>) {
    learn_code(work_, call);
  } else if constexpr (kUnloads<CallStruct>) {
    // A launch may have asked once more meanwhile.
    forget_known(work_, call);
  }
}

// --- Copies and fills, and other calls that queue something

template <class CallStruct>
WorkRoom::Ticket Session::enter_work(Symbol symbol, const CallStruct& call) noexcept {
  if (!work_.active()) [[likely]]
    return {};
  try {
    return work_.enter(stream_of(call), is_per_thread(symbol));
  } catch (...) {
    turn_off();
    return {};
  }
}

template <class CallStruct>
void Session::leave_work(Symbol symbol, const CallStruct& call, const WorkRoom::Ticket& ticket,
                         CUresult result, const Touched* touched, const Caller& caller) noexcept {
  try {
    if (result != CUDA_SUCCESS) return work_.cancel(ticket);
    // As few as the call can have: each is written before it is used.
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
      if (!work_.bounds().near(&touch, 1)) return;
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
      work_.use(ticket, use, {{}, {ranges, count}});
      if (!early.empty()) [[unlikely]] {
        report(Call(call), std::move(early), {.result = result}, use.origin.call, use.origin.stack);
      }
    }
    if constexpr (kBlocks<CallStruct>) {
      work_.over(work_.given(nullptr, is_per_thread(symbol)));
    }
  } catch (...) {
    turn_off();
  }
}

}  // namespace cuvmm::shim
