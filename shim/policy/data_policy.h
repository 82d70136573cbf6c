// SPDX-License-Identifier: Apache-2.0
// Copies and fills: only the bytes that touches() names are checked. Every other entry point has a
// check() of its own. shim/intercept/every_entry_test.cc makes sure that each entry point is either
// here or has a check().
#pragma once

#include <string_view>
#include <type_traits>

#include "api/area.h"
#include "rulebook/array/array_uses.h"
#include "rulebook/batch/operations.h"
#include "rulebook/check/check.h"
#include "rulebook/data/refused.h"
#include "shim/base/bounds.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

template <class CallStruct>
inline constexpr bool kTouches = area_of(CallStruct::kEntryPoint) == "data" &&
                                 !checked_by_itself<CallStruct>;

/// A fill on a stream. Where the stream captures, the driver makes a node without a look at the
/// memory, which the program may map before the graph is instantiated.
template <class CallStruct>
inline constexpr bool kFillsLater = kTouches<CallStruct>&& requires(const CallStruct& call) {
  call.hStream;
}
&&std::string_view(CallStruct::kName).starts_with("cuMemset");

/// Drops what a program may still change before its captured fill is done.
inline void forget_mapping(Violations& violations) {
  violations.erase_if([](const Violation& v) {
    return v.rule == Rule::kDataMapped || v.rule == Rule::kDataWritable;
  });
}

template <class CallStruct>
requires kTouches<CallStruct>
struct Policy<CallStruct> {
  using CallState = Touched;
};

/// Any number of copies, or of similar operations, in one call.
template <class CallStruct>
inline constexpr bool kBatch = kOfOperations<CallStruct>;

/// The session asks the model about the call even if the call touches nothing near a reservation,
/// because pools are no reservations.
template <class CallStruct>
inline constexpr bool kAsksAnyway = area_of(CallStruct::kEntryPoint) == "stream_memory" ||
                                    std::is_same_v<CallStruct, calls::MemBatchDecompressAsync>;

/// A fill by a node of a graph, as the call with this effect.
inline calls::MemsetD2D8 fill_of(const CUDA_MEMSET_NODE_PARAMS& fill) {
  return {.dstDevice = fill.dst,
          .dstPitch = fill.pitch,
          .uc = 0,
          .Width = fill.width * fill.elementSize,
          .Height = fill.height};
}

/// visit(touch) for each range that a call names beside those of touches() and operation(): of
/// memory that is moved, advised, discarded or exported, and of the host's side of a copy.
template <class CallStruct, class Visitor>
void each_range([[maybe_unused]] const CallStruct& call, [[maybe_unused]] Visitor&& visit) {
  const auto one = [&](const char* parameter, auto base, std::size_t size) {
    Touch touch;
    if constexpr (std::is_pointer_v<decltype(base)>) {
      touch.base = reinterpret_cast<std::uintptr_t>(base);
    } else {
      touch.base = base;
    }
    touch.width = size;
    touch.parameter = parameter;
    if (size != 0) visit(touch);
  };
  if constexpr (requires { call.devPtr + call.count; }) one("devPtr", call.devPtr, call.count);
  if constexpr (requires { call.dptr + call.length; }) one("dptr", call.dptr, call.length);
  if constexpr (std::is_same_v<CallStruct, calls::MemGetHandleForAddressRange>) {
    one("dptr", call.dptr, call.size);
  }
  // A length of 0 means the whole memory.
  if constexpr (std::is_same_v<CallStruct, calls::StreamAttachMemAsync>) {
    if (call.length == 0) one("dptr", call.dptr, 1);
  }
  // For a copy between rows: the first row on the host.
  if constexpr (requires { call.pCopy->srcHost; }) {
    if (!call.pCopy) return;
    const auto& copy = *call.pCopy;
    const std::size_t first = copy.Height != 0 ? copy.WidthInBytes : 0;
    if (copy.srcMemoryType == CU_MEMORYTYPE_HOST) {
      one("pCopy->srcHost",
          reinterpret_cast<std::uintptr_t>(copy.srcHost) + copy.srcY * copy.srcPitch +
              copy.srcXInBytes,
          first);
    }
    if (copy.dstMemoryType == CU_MEMORYTYPE_HOST) {
      one("pCopy->dstHost",
          reinterpret_cast<std::uintptr_t>(copy.dstHost) + copy.dstY * copy.dstPitch +
              copy.dstXInBytes,
          first);
    }
  }
  if constexpr (requires {
                  call.srcHost;
                  call.ByteCount;
                }) {
    one("srcHost", call.srcHost, call.ByteCount);
  }
  if constexpr (requires {
                  call.dstHost;
                  call.ByteCount;
                }) {
    one("dstHost", call.dstHost, call.ByteCount);
  }
  if constexpr (requires {
                  call.dptrs;
                  call.sizes;
                }) {
    for (std::size_t i = 0; call.dptrs && call.sizes && i < call.count; ++i) {
      one("dptrs", call.dptrs[i], call.sizes[i]);
    }
  }
}
/// visit(touch) for each range in memory of the host that the call may name.
template <class CallStruct, class Visitor>
void each_host_touch(const CallStruct& call, Visitor&& visit) {
  const auto look = [&](const Touch& touch) {
    if (touch.width != 0 && !names_device(touch)) visit(touch);
  };
  if constexpr (kTouches<CallStruct>) {
    Touch list[kMaxTouches];
    const std::size_t count = touches(call, list);
    for (std::size_t i = 0; i < count; ++i) look(list[i]);
  } else if constexpr (kBatch<CallStruct>) {
    for (std::size_t i = 0; i < operations(call); ++i) {
      const Operation one = operation(call, i);
      for (std::size_t k = 0; k < one.count; ++k) look(one.list[k]);
    }
  }
  each_range(call, look);
}

/// Whether the call names memory of the host in this range.
template <class CallStruct>
[[gnu::cold, gnu::noinline]] bool names_host_memory_in(const CallStruct& call,
                                                       const Bounds::Range& range) {
  bool names = false;
  each_host_touch(call, [&](const Touch& touch) { names |= range.holds(touch.base); });
  return names;
}
/// names_host_memory_in(); costs two loads while the range is empty.
template <class CallStruct>
bool may_name_lost_pages(const CallStruct& call, const Bounds& losing_pages) {
  if constexpr (kTouches<CallStruct> || kBatch<CallStruct>) {
    const Bounds::Range range = losing_pages.range();
    return range.size != 0 && names_host_memory_in(call, range);
  }
  return false;
}

template <class CallStruct>
inline constexpr bool kNamesRanges = area_of(CallStruct::kEntryPoint) == "managed" ||
                                     std::is_same_v<CallStruct, calls::MemGetHandleForAddressRange>;

namespace detail {
template <class CallStruct>
inline constexpr bool kBatchWithArrays = requires(const CallStruct& c,
                                                  ArrayUse (&uses)[kMostArrayUses]) {
  array_uses(c.opList[0], uses);
};
template <class CallStruct>
inline constexpr bool kCopyWithArrays = requires(const CallStruct& c,
                                                 ArrayUse (&uses)[kMostArrayUses]) {
  array_uses(*c.op, uses);
};
}  // namespace detail

/// visit(uses, count) for the parts of arrays that the call copies; of a batch, for each copy.
template <class CallStruct, class Visitor>
void each_array_use([[maybe_unused]] const CallStruct& call, [[maybe_unused]] Visitor&& visit) {
  ArrayUse uses[kMostArrayUses];
  if constexpr (kMayUseArrays<CallStruct>) {
    const std::size_t count = array_uses(call, uses);
    if (count != 0) visit(uses, count);
  } else if constexpr (detail::kBatchWithArrays<CallStruct>) {
    for (std::size_t i = 0; call.opList && i < call.numOps; ++i) {
      const std::size_t count = array_uses(call.opList[i], uses);
      if (count != 0) visit(uses, count);
    }
  } else if constexpr (detail::kCopyWithArrays<CallStruct>) {
    const std::size_t count = call.op ? array_uses(*call.op, uses) : 0;
    if (count != 0) visit(uses, count);
  }
}

template <class CallStruct>
inline constexpr bool kUsesArrays =
    kMayUseArrays<CallStruct> || detail::kBatchWithArrays<CallStruct> ||
    detail::kCopyWithArrays<CallStruct>;

template <class CallStruct>
bool uses_array(const CallStruct& call) {
  bool any = false;
  each_array_use(call, [&](const ArrayUse*, std::size_t) { any = true; });
  return any;
}

/// The stream of a parameter called `hStream` or `stream`; the default stream if the call has no
/// such parameter.
template <class CallStruct>
CUstream stream_of([[maybe_unused]] const CallStruct& call) {
  if constexpr (requires { call.hStream; }) {
    return call.hStream;
  } else if constexpr (requires { call.stream; }) {
    return call.stream;
  } else {
    return nullptr;
  }
}

}  // namespace cuvmm::shim
