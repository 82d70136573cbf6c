// SPDX-License-Identifier: Apache-2.0
// Calls by which the host learns that earlier work is over although they are no synchronisation: by
// the table of rulebook/order/host_wait.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "rulebook/batch/operations.h"
#include "rulebook/order/host_wait.h"
#include "shim/policy/data_policy.h"
#include "shim/queued_work/queued_work.h"

namespace cuvmm::shim {

/// A copy or fill without a stream parameter: it uses a default stream, and may wait there.
template <class CallStruct>
inline constexpr bool kStreamless = kTouches<CallStruct> && !requires(const CallStruct& c) {
  c.hStream;
};

/// The state of a call that queues work, from before the driver's call.
template <class CallStruct>
struct WorkEntry : QueuedWork::Ticket {
  bool on_device = false;  ///< all memory of a copy or fill is known to lie on a device
};
template <class CallStruct>
requires kStreamless<CallStruct>
struct WorkEntry<CallStruct> : QueuedWork::Ticket {
  static constexpr bool on_device = false;  ///< the host may wait for such a call all the same
  Clock before;                             ///< the work that comes before this call's work
};

/// The call may wait for all work of the process. A call that ends a context has a policy of its
/// own, which forgets more.
template <class CallStruct>
inline constexpr bool kMayWaitForAll =
    EndsContext<CallStruct> ? false : host_wait(CallStruct::kEntryPoint) == host_waits::kMaybeAll;

/// The state of such a call.
template <class CallStruct>
using AwaitedByTheWay = std::conditional_t<kMayWaitForAll<CallStruct>, Clock, detail::Nothing>;

/// The work for which a call that may wait for everything may wait.
template <class CallStruct>
Clock awaited_by_the_way(QueuedWork& work, const CallStruct& call) {
  // cuda.h says that a free of a pool's memory does not wait. cuda.h does not mention memory of a
  // graph.
  if constexpr (std::is_same_v<CallStruct, calls::MemFree>) {
    if (work.watches_pool(call.dptr)) return {};
  }
  return work.everything();
}

/// The event that other processes may know after this call.
inline CUevent shared_by(const calls::IpcGetEventHandle& call) { return call.event; }
inline CUevent shared_by(const calls::IpcOpenEventHandle& call) { return *call.phEvent; }

/// Whether a batch has one of two kinds of operation.
inline bool has_one_of(const calls::StreamBatchMemOp& call, CUstreamBatchMemOpType first,
                       CUstreamBatchMemOpType second) {
  const auto* const list = call.paramArray;
  return std::any_of(list, list + operations(call), [&](const CUstreamBatchMemOpParams& one) {
    return one.operation == first || one.operation == second;
  });
}

/// The earlier work of which the call tells the host later, whatever kind of memory the call
/// writes.
template <class CallStruct>
HostWait host_wait_of([[maybe_unused]] const CallStruct& call) {
  constexpr HostWait kWait = host_wait(CallStruct::kEntryPoint);
  if constexpr (kWait.grade != HostWait::Grade::kTells) return {};
  if constexpr (std::is_same_v<CallStruct, calls::StreamBatchMemOp>) {
    const bool writes =
        has_one_of(call, CU_STREAM_MEM_OP_WRITE_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_64);
    if (!writes) return {};
  }
  return kWait;
}

/// Whether the call queues a wait for a signal of others.
template <class CallStruct>
bool hears([[maybe_unused]] const CallStruct& call) {
  if constexpr (std::is_same_v<CallStruct, calls::StreamBatchMemOp>) {
    return has_one_of(call, CU_STREAM_MEM_OP_WAIT_VALUE_32, CU_STREAM_MEM_OP_WAIT_VALUE_64);
  } else {
    return waits_for_others(CallStruct::kEntryPoint);
  }
}

// --- The sides of a copy or fill

/// One side of a copy: an address whose kind of memory is not known yet, or 0 if the function's
/// name says that the side is a device's.
struct Sides {
  std::uint64_t to = 0, from = 0;
  bool empty = false;
};

namespace detail {

inline std::uint64_t number_of(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }

// If the function's name says that a copy goes between the device and the host, the device's side
// is known.
template <class CallStruct>
Sides sides_by_name(const CallStruct& call) {
  Sides out;
  constexpr bool kToHost = requires { call.dstHost; };
  constexpr bool kFromHost = requires { call.srcHost; };
  if constexpr (kToHost) out.to = number_of(call.dstHost);
  if constexpr (kFromHost) out.from = number_of(call.srcHost);
  if constexpr (!kToHost && !kFromHost) {
    if constexpr (requires { call.dstDevice; }) out.to = call.dstDevice;
    if constexpr (requires { call.srcDevice; }) out.from = call.srcDevice;
    if constexpr (requires { call.dst; }) out.to = call.dst;
    if constexpr (requires { call.src; }) out.from = call.src;
  }
  if constexpr (requires { call.ByteCount; }) out.empty = call.ByteCount == 0;
  if constexpr (requires { call.N; }) out.empty = call.N == 0;
  if constexpr (requires { call.Height; }) out.empty = call.Width == 0 || call.Height == 0;
  return out;
}

template <class Descriptor>
Sides sides_of_descriptor(const Descriptor& copy) {
  const auto side = [](CUmemorytype type, const void* host, std::uint64_t device) {
    if (type == CU_MEMORYTYPE_ARRAY) return std::uint64_t{0};
    return type == CU_MEMORYTYPE_HOST ? number_of(host) : device;
  };
  Sides out{side(copy.dstMemoryType, copy.dstHost, copy.dstDevice),
            side(copy.srcMemoryType, copy.srcHost, copy.srcDevice)};
  out.empty = copy.WidthInBytes == 0 || copy.Height == 0;
  if constexpr (requires { copy.Depth; }) out.empty |= copy.Depth == 0;
  return out;
}

}  // namespace detail

/// The sides of a call that touches() knows, and that succeeded.
template <class CallStruct>
Sides sides_of(const CallStruct& call) {
  if constexpr (requires { call.pCopy; }) {
    return call.pCopy ? detail::sides_of_descriptor(*call.pCopy) : Sides{.empty = true};
  } else {
    return detail::sides_by_name(call);
  }
}
/// The sides of one of several copies.
inline Sides sides_of(const Operation& one) {
  Sides out;
  for (std::size_t i = 0; i < one.count; ++i) {
    (one.list[i].write ? out.to : out.from) = one.list[i].base;
  }
  out.empty = one.count == 0;
  return out;
}

template <class CallStruct>
inline constexpr TransferForm kFormOf = [] {
  constexpr bool kFills = requires(const CallStruct& c) { c.uc; }
  || requires(const CallStruct& c) { c.us; }
  || requires(const CallStruct& c) { c.ui; };
  if (kFills) return kStreamless<CallStruct> ? TransferForm::kFill : TransferForm::kFillAsync;
  return kStreamless<CallStruct> ? TransferForm::kCopy : TransferForm::kCopyAsync;
}();

/// Whether the call may let the host know something before the call returns, because the bytes that
/// a stream writes may lie in memory of the host.
template <class CallStruct>
inline constexpr bool kMayTell = [] {
  if (host_wait(CallStruct::kEntryPoint).grade == HostWait::Grade::kTells) return true;
  if constexpr (!kTouches<CallStruct>) return false;
  constexpr bool kFromHost = requires(const CallStruct& c) { c.srcHost; };
  constexpr bool kInside = requires(const CallStruct& c) {
    c.srcDevice;
    c.dstDevice;
  };
  return !kFromHost && !kInside;
}();

/// cuvmm takes copies to the host of up to so many bytes for flags and counters.
inline constexpr std::size_t kMostWordsOfACopy = 1024;

/// Several copies in one call, with a stream.
template <class CallStruct>
inline constexpr bool kCopies = kBatch<CallStruct>&& area_of(CallStruct::kEntryPoint) == "copy" &&
                                !std::is_same_v<CallStruct, calls::MemBatchDecompressAsync>;
/// The session looks at no more copies of a batch than these.
inline constexpr std::size_t kMostCopiesAskedFor = 64;

}  // namespace cuvmm::shim
