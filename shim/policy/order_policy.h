// SPDX-License-Identifier: Apache-2.0
// The kinds of calls of area `order`: which of them launch, wait, record, or end objects that cuvmm
// follows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "api/default_stream.h"
#include "api/symbols/symbols.h"
#include "rulebook/base/violation.h"
#include "shim/policy/data_policy.h"
#include "shim/queued_work/arguments/pointers.h"
#include "shim/queued_work/arguments/ptx_parameters.h"
#include "shim/queued_work/graph/graph_change.h"
#include "shim/queued_work/queued_work.h"

namespace cuvmm::shim {

namespace detail {
template <class CallStruct, class... Of>
inline constexpr bool one_of = (std::is_same_v<CallStruct, Of> || ...);
}  // namespace detail

template <class CallStruct>
inline constexpr bool kLaunches =
    detail::one_of<CallStruct, calls::LaunchKernel, calls::LaunchKernelEx,
                   calls::LaunchCooperativeKernel>;
template <class CallStruct>
inline constexpr bool kLaunchesGraph = detail::one_of<CallStruct, calls::GraphLaunch>;
template <class CallStruct>
inline constexpr bool kMakesGraph =
    detail::one_of<CallStruct, calls::GraphInstantiate_v2, calls::GraphInstantiateWithFlags,
                   calls::GraphInstantiateWithParams>;
/// The call changes an executable graph, as a whole or in one node.
template <class CallStruct>
inline constexpr bool kChangesGraph =
    detail::one_of<CallStruct, calls::GraphExecUpdate, calls::GraphExecUpdate_v2,
                   calls::GraphExecKernelNodeSetParams, calls::GraphExecKernelNodeSetParams_v1,
                   calls::GraphExecMemcpyNodeSetParams, calls::GraphExecMemsetNodeSetParams,
                   calls::GraphExecBatchMemOpNodeSetParams, calls::GraphExecChildGraphNodeSetParams,
                   calls::GraphExecNodeSetParams, calls::GraphNodeSetEnabled>;
template <class CallStruct>
inline constexpr bool kUpdatesGraph =
    detail::one_of<CallStruct, calls::GraphExecUpdate, calls::GraphExecUpdate_v2>;
/// The call gives a copy or fill of an executable graph other memory.
template <class CallStruct>
inline constexpr bool kSetsNode = detail::one_of<CallStruct, calls::GraphExecMemcpyNodeSetParams,
                                                 calls::GraphExecMemsetNodeSetParams>;
/// The driver looks at all nodes of a graph.
template <class CallStruct>
inline constexpr bool kReadsGraph = kMakesGraph<CallStruct> || kUpdatesGraph<CallStruct>;
template <class CallStruct>
inline constexpr bool kEncodesMap =
    detail::one_of<CallStruct, calls::TensorMapEncodeTiled, calls::TensorMapEncodeIm2col,
                   calls::TensorMapEncodeIm2colWide>;
template <class CallStruct>
inline constexpr bool kMovesMap = detail::one_of<CallStruct, calls::TensorMapReplaceAddress>;
template <class CallStruct>
inline constexpr bool kBeginsCapture =
    detail::one_of<CallStruct, calls::StreamBeginCapture, calls::StreamBeginCaptureToGraph>;
template <class CallStruct>
inline constexpr bool kRecordsEvent =
    detail::one_of<CallStruct, calls::EventRecord, calls::EventRecordWithFlags>;
/// The record is a node of the captured graph, which launches make: the host may wait for it.
template <class CallStruct>
bool records_outside(const CallStruct& call) {
  if constexpr (requires { call.flags; }) return (call.flags & CU_EVENT_RECORD_EXTERNAL) != 0;
  return false;
}
/// The host waits for an event, queries it, or measures the time between two.
template <class CallStruct>
inline constexpr bool kAsksEvent =
    detail::one_of<CallStruct, calls::EventQuery, calls::EventSynchronize, calls::EventElapsedTime>;
template <class CallStruct>
inline constexpr bool kWaitsForEvent = detail::one_of<CallStruct, calls::StreamWaitEvent>;
/// kRecordsEvent and kWaitsForEvent for all streams of a context.
template <class CallStruct>
inline constexpr bool kRecordsContext =
    detail::one_of<CallStruct, calls::CtxRecordEvent, calls::GreenCtxRecordEvent>;
template <class CallStruct>
inline constexpr bool kWaitsInContext =
    detail::one_of<CallStruct, calls::CtxWaitEvent, calls::GreenCtxWaitEvent>;
/// The call queues itself to its stream like work.
template <class CallStruct>
inline constexpr bool kActsOnStream =
    kRecordsEvent<CallStruct> || kWaitsForEvent<CallStruct> ||
    detail::one_of<CallStruct, calls::LaunchHostFunc, calls::LaunchHostFunc_v2,
                   calls::StreamAddCallback, calls::GraphUpload>;
/// The host waits for work, or asks whether it is over.
template <class CallStruct>
inline constexpr bool kWaits =
    detail::one_of<CallStruct, calls::StreamQuery, calls::StreamSynchronize, calls::EventQuery,
                   calls::EventSynchronize, calls::EventElapsedTime, calls::CtxSynchronize,
                   calls::CtxSynchronize_v2>;
/// The call ends functions.
template <class CallStruct>
inline constexpr bool kUnloads =
    detail::one_of<CallStruct, calls::ModuleUnload, calls::LibraryUnload>;
/// The call brings functions. If the code is PTX, it has the types of their parameters.
template <class CallStruct>
inline constexpr bool kLoadsCode =
    detail::one_of<CallStruct, calls::ModuleLoad, calls::ModuleLoadData, calls::ModuleLoadDataEx,
                   calls::LibraryLoadData, calls::LibraryLoadFromFile>;
/// From this call on a handle means another object, or none.
template <class CallStruct>
inline constexpr bool kEndsKnown =
    kUnloads<CallStruct> ||
    detail::one_of<CallStruct, calls::EventDestroy, calls::GraphExecDestroy>;

/// Whether the session has anything to do for a call of area `order`.
template <class CallStruct>
bool matters(const QueuedWork& work) {
  if (work.active()) return true;
  if constexpr (kLoadsCode<CallStruct>) {
    return work.follows();
  } else if constexpr (kMakesGraph<CallStruct>) {
    return work.judges_graphs();
  } else if constexpr (kChangesGraph<CallStruct> ||
                       detail::one_of<CallStruct, calls::GraphExecDestroy>) {
    return work.graphs().any_allocates() || work.graphs().any_owned();
  } else if constexpr (kLaunchesGraph<CallStruct>) {
    return work.graphs().any_owned();
  } else {
    return false;
  }
}

/// A call of another area that queues something to a stream.
template <class CallStruct>
inline constexpr bool kQueues = [] {
  if constexpr (kOrdersWork<CallStruct> || detail::one_of<CallStruct, calls::StreamDestroy>) {
    return false;
  } else {
    return kTouches<CallStruct> || kBatch<CallStruct> || requires(const CallStruct& c) {
      c.hStream;
    }
    || requires(const CallStruct& c) { c.stream; };
  }
}();
inline constexpr std::size_t kMostRangesOfACopy = 64;
/// The memory begins at the call's position in its stream.
template <class CallStruct>
inline constexpr bool kAllocatesInOrder =
    detail::one_of<CallStruct, calls::MemAllocAsync, calls::MemAllocFromPoolAsync>;

/// The state of one call of area `order`, from before the driver's call until after it.
template <class CallStruct>
struct OrderCallState {};
template <class CallStruct>
requires kLaunches<CallStruct>
struct OrderCallState<CallStruct> {
  const Layout* layout = nullptr;
  ReservedEvent event;
  bool tells = false;  ///< the kernel gets memory that the host reads too
  Pointers pointers;
  bool empty() const { return pointers.empty(); }
};
template <class CallStruct>
requires kLaunchesGraph<CallStruct>
struct OrderCallState<CallStruct> {
  std::shared_ptr<const GraphUses> graph;
  bool empty() const { return !graph || graph->ranges->empty(); }
};
template <class CallStruct>
requires kMovesMap<CallStruct>
struct OrderCallState<CallStruct> {
  std::optional<UsedRange> tensor;  ///< the tensor's memory before the call
};
template <class CallStruct>
requires kWaits<CallStruct>
struct OrderCallState<CallStruct> : Clock {
};
template <class CallStruct>
requires kUnloads<CallStruct>
struct OrderCallState<CallStruct> : Clock {
};

template <class CallStruct>
struct Ordering {
  QueuedWork::Ticket ticket;
  Violations violations;
  Origin origin;
  OrderCallState<CallStruct> state;
};

namespace detail {

// A bit for each symbol: each launch reads it, and the table of all facts of the symbols is not in
// the cache.
inline constexpr auto kPerThreadBits = [] {
  constexpr unsigned kPerThread = 2;
  std::array<std::uint64_t, static_cast<std::size_t>(Symbol::kCount) / 64 + 1> bits{};
  const auto set = [&](Symbol symbol, unsigned flags) {
    const auto at = static_cast<std::size_t>(symbol);
    if (flags == kPerThread) bits[at / 64] |= std::uint64_t{1} << at % 64;
  };
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) set(Symbol::k_##symbol, flags);
#include "api/entry_points.def"
  return bits;
}();

}  // namespace detail

/// Whether a NULL stream is the thread's own default stream.
inline bool is_per_thread(Symbol symbol) {
  const auto at = static_cast<std::size_t>(symbol);
  return (detail::kPerThreadBits[at / 64] >> at % 64 & 1) != 0;
}

template <class CallStruct>
CUstream order_stream(const CallStruct& call) {
  if constexpr (requires { call.hStream; }) {
    return call.hStream;
  } else {
    return call.config ? call.config->hStream : nullptr;
  }
}

template <class CallStruct>
void** extra_of(const CallStruct& call) {
  if constexpr (requires { call.extra; }) {
    return call.extra;
  } else {
    return nullptr;
  }
}

/// The flags with which a call instantiates a graph.
template <class CallStruct>
unsigned long long flags_of(const CallStruct& call) {
  if constexpr (requires { call.flags; }) {
    return call.flags;
  } else if constexpr (requires { call.instantiateParams->flags; }) {
    return call.instantiateParams ? call.instantiateParams->flags : 0;
  } else {
    return 0;
  }
}

/// The context of an event of a context; null for a green context, whose streams cuvmm does not
/// know.
template <class CallStruct>
CUcontext context_of(const CallStruct& call) {
  if constexpr (std::is_same_v<decltype(call.hCtx), CUcontext>) {
    return call.hCtx;
  } else {
    return nullptr;
  }
}

/// visit(event) for each event that a launch records by itself, when it begins or while it runs.
template <class CallStruct, class Visit>
void each_event([[maybe_unused]] const CallStruct& call, [[maybe_unused]] Visit&& visit) {
  if constexpr (requires { call.config; }) {
    // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, and CUDA 12.3's
    // CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, whose value begins with the event too.
    constexpr int kProgrammatic = 7, kCompletion = 12;
    if (!call.config || !call.config->attrs) return;
    for (unsigned i = 0; i < call.config->numAttrs; ++i) {
      const CUlaunchAttribute& attribute = call.config->attrs[i];
      const int id = static_cast<int>(attribute.id);
      if (id != kProgrammatic && id != kCompletion) continue;
      if (attribute.value.programmaticEvent.event) visit(attribute.value.programmaticEvent.event);
    }
  }
}

inline Launch kind_of(const Layout& layout) {
  return layout.hidden ? Launch::kHidden : Launch::kPlain;
}

/// The work for which the host waits in this call.
template <class CallStruct>
OrderCallState<CallStruct> awaited(QueuedWork& work, const CallStruct& call, bool per_thread) {
  if constexpr (requires { call.hStream; }) {
    return {work.given(call.hStream, per_thread)};
  } else if constexpr (requires { call.hEvent; }) {
    return {work.recorded(call.hEvent)};
  } else if constexpr (requires { call.hStart; }) {
    Clock both = work.recorded(call.hStart);
    both.join(work.recorded(call.hEnd));
    return {std::move(both)};
  } else if constexpr (requires { call.ctx; }) {
    return {work.given_to(call.ctx)};
  } else {
    return {work.given_to(nullptr)};
  }
}

/// Notes the facts about its functions that the code contains.
template <class CallStruct>
void learn_code(QueuedWork& work, const CallStruct& call) {
  Layouts& layouts = work.arguments().layouts();
  if constexpr (requires { call.fname; }) {
    layouts.learn_file(*call.module, call.fname);
  } else if constexpr (requires { call.fileName; }) {
    layouts.learn_file(*call.library, call.fileName);
  } else if constexpr (requires { call.image; }) {
    layouts.learn(*call.module, ptx_of_image(call.image));
  } else {
    layouts.learn(*call.library, ptx_of_image(call.code));
  }
}

template <class CallStruct>
void forget_known(QueuedWork& work, const CallStruct& call) {
  if constexpr (requires { call.hEvent; }) {
    work.forget(call.hEvent);
  } else if constexpr (requires { call.hGraphExec; }) {
    work.forget_graph(call.hGraphExec);
  } else {
    work.arguments().layouts().forget_all();
  }
}

}  // namespace cuvmm::shim
