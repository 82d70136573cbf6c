// SPDX-License-Identifier: Apache-2.0
// Policies of legacy IPC, and of calls that end memory or handles of legacy IPC.
#pragma once

#include "shim/policy/still_used.h"

namespace cuvmm::shim {

/// The call needs a current context, and the answer depends on the context.
template <class CallStruct>
struct AsksContext {
  static void ask(PolicyResources& resources, const CallStruct&, Step<CallStruct>& step) {
    resources.driver.find_context(step.facts.write().place);
  }
};

template <>
struct Policy<calls::IpcGetMemHandle> {
  using Call = calls::IpcGetMemHandle;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.driver.find_context(step.facts.write().place);
    if (call.dptr) resources.driver.find_memory(call.dptr, step.facts.write().ipc);
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    const IpcBytes handle = ipc_bytes(*call.pHandle);
    const IpcExport* const made = resources.history.model.ipc().exported(handle);
    resources.history.ipc_log.exported(handle, made ? made->base : call.dptr, step.origin);
  }
};

template <>
struct Policy<calls::IpcOpenMemHandle> : AsksContext<calls::IpcOpenMemHandle> {
  using Call = calls::IpcOpenMemHandle;
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    Facts::Ipc& memory = step.facts.write().ipc;
    resources.driver.find_memory(*call.pdptr, memory);
    // Memory that is open already keeps its birth, because work that uses it began with the first
    // open.
    if (memory.size != 0) {
      resources.work.watch(*call.pdptr, {{memory.base, memory.size}, born_now(resources)}, true);
    }
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.history.ipc_log.opened(ipc_bytes(call.handle), *call.pdptr, step.origin);
    // Memory that every device may touch need not be judged.
    const Model& model = resources.history.model;
    const IpcOpen* open = model.ipc().open_of(*call.pdptr);
    if (open && model.platform().device_count != 1) {
      resources.bounds.widen(open->pointer, open->size + 1);
    }
  }
};

/// The time at which a closing call was entered: until then the memory was open for sure.
struct Entered {
  std::uint64_t at = 0;  ///< on IpcLog's clock
};

template <>
struct Policy<calls::IpcCloseMemHandle> {
  using Call = calls::IpcCloseMemHandle;
  struct CallState : Entered {
    StillUsed used;
  };
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    step.state.at = IpcLog::now();
    resources.driver.find_context(step.facts.write().place);
    if (resources.work.active() && closes_last(resources, call.dptr)) {
      find_work_of(resources, call.dptr, step.state.used, step);
    }
  }
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (!step.change.rare) return;
    for (const IpcOpen& open : step.change.rare->ipc_opens) {
      if (open.count == 1) resources.work.unwatch(call.dptr, step.origin.call);
    }
  }
  static void record(PolicyResources& resources, const Call&, Step<Call>& step) {
    if (!step.change.rare) return;
    for (const IpcOpen& open : step.change.rare->ipc_opens) {
      if (open.count != 1) continue;
      resources.history.ipc_log.closed(open.bytes, step.origin, step.state.at);
    }
  }

 private:
  // If the memory is open more than once, a close takes nothing away.
  static bool closes_last(PolicyResources& resources, Address pointer) {
    const Locked lock(resources.mutex);
    const IpcOpen* const open = resources.history.model.ipc().open_of(pointer);
    return !open || open->count <= 1;
  }
};

template <>
struct Policy<calls::IpcOpenEventHandle> : AsksContext<calls::IpcOpenEventHandle> {};

template <>
struct Policy<calls::MemFree> {
  using Call = calls::MemFree;
  using CallState = StillUsed;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    // A free of other memory may wait for the work by itself.
    if (resources.work.active() && resources.work.watches_pool(call.dptr)) {
      find_work_of(resources, call.dptr, step.state, step);
    }
  }
  // The call may also end memory of a pool.
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.work.unwatch(call.dptr, step.origin.call);
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    ProcessHistory& history = resources.history;
    if (history.causes.knows_node_memory()) history.causes.freed(call.dptr, step.origin);
    history.ipc_log.pool_memory_freed(call.dptr, step.origin);
    if (step.change.rare) {
      for (const IpcExport& e : step.change.rare->ipc_exports) {
        history.ipc_log.freed(e.bytes, step.origin, IpcLog::now());
      }
    }
    const bool was_reserved =
        resources.bounds.holds(call.dptr) &&
        history.model.tombstones().find_covering(ObjectRef::Kind::kReservation, call.dptr);
    if (was_reserved) history.plain_ended = step.origin.call;
    if (resources.work.active()) resources.work.arguments().changed();
  }
};

/// The call ends a context, or gives up a reference to one: other objects end with the context. No
/// rule is about the call, and a trace leaves it out; but a finding about a free of memory that the
/// call ended names the call.
template <EndsContext CallStruct>
struct Policy<CallStruct> {
  using CallState = Entered;
  static void ask(PolicyResources& resources, const CallStruct&, Step<CallStruct>& step) {
    step.state.at = IpcLog::now();
    if (resources.work.active()) resources.work.end_context();
  }
  static bool ended_nothing(PolicyResources& resources, const CallStruct& call) {
    if constexpr (CallStruct::kEntryPoint == EntryPoint::kDevicePrimaryCtxRelease) {
      return resources.driver.primary_context_active(call.dev) == Facts::Answer::kYes;
    } else {
      return false;
    }
  }
  static void record(PolicyResources& resources, const CallStruct& call, Step<CallStruct>& step) {
    ProcessHistory& history = resources.history;
    history.plain_ended = step.origin.call;
    history.causes.context_ended(step.origin, ending_of(call).device);
    if (!step.change.rare) return;
    // From here on, nothing proves that the memory that the context had opened is still open.
    for (const IpcOpen& open : step.change.rare->context.ipc_opens) {
      history.ipc_log.closed(open.bytes, step.origin, step.state.at);
    }
  }
};

}  // namespace cuvmm::shim
