// SPDX-License-Identifier: Apache-2.0
// The steps of every copy and fill: which device performs it, whether the rules allow it, and the
// checks of memory that is not mapped.
#pragma once

#include <algorithm>
#include <utility>

#include "emulator/core/locked.h"
#include "emulator/core/mistake.h"
#include "emulator/transfer/queued_transfer.h"
#include "emulator/transfer/transfer_plan.h"
#include "rulebook/array/array_uses.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

/// Finds a stream's context, and writes its device into the facts; INVALID_HANDLE for a handle that
/// is no stream.
inline CUresult use_stream(const Emulator& e, CUstream stream, Facts::Place& place,
                           const Context*& by) {
  if (Streams::is_default(stream)) return CUDA_SUCCESS;
  const Stream* found = e.streams.find(stream);
  if (e.no_context() == CUDA_ERROR_CONTEXT_IS_DESTROYED) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (!found) return e.streams.no_stream(stream);
  by = found->context;
  place.context = found->context->alive ? Facts::Answer::kYes : Facts::Answer::kNo;
  place.device = found->context->device;
  return found->context->fault;
}

/// The devices of the contexts that a peer copy names; null stands for the current context.
inline CUresult use_contexts(const Emulator& e, CUcontext to, CUcontext from, bool empty,
                             Facts::Place& place) {
  // A stream may have a context where the thread has none; then a copy is refused unless it is
  // empty (recorded).
  if ((!to || !from) && !e.current_context()) {
    return empty ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  const Context* destination = to ? e.contexts.find(to) : e.current_context();
  const Context* source = from ? e.contexts.find(from) : e.current_context();
  if (!destination || !source || !destination->alive || !source->alive) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  place.device = destination->device;
  place.peer_device = source->device;
  return CUDA_SUCCESS;
}

/// A descriptor as a driver reads it: a side whose address lies in a mapping counts as device
/// memory, whatever type the side has (recorded: the driver checks access even where the type is
/// the host's), and so does a side in a device pool's memory.
template <class Descriptor>
Descriptor as_seen(const Emulator& e, Descriptor d) {
  const auto see = [&](CUmemorytype& type, const void* host, CUdeviceptr& device) {
    if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY) return;
    const Address at = type == CU_MEMORYTYPE_HOST ? detail::address_of(host) : device;
    const PlainAllocation* plain = e.plain.at(at);
    const bool pooled = plain && plain->pool && plain->on_device();
    if (!e.model.mapping_at(at) && !pooled) return;
    type = CU_MEMORYTYPE_UNIFIED;
    device = at;
  };
  see(d.dstMemoryType, d.dstHost, d.dstDevice);
  see(d.srcMemoryType, d.srcHost, d.srcDevice);
  return d;
}

/// Whose access counts for work on a stream.
enum class Judge : bool { kCurrentContext, kStream };

/// Whether bytes of pageable memory may be among the call's: it names both sides' memory, or memory
/// of the host beside an array.
template <class CallStruct>
constexpr bool may_be_pageable() {
  bool pageable = requires(const CallStruct& call) { call.dst; };
  pageable = pageable || requires(const CallStruct& call) {
    call.dstArray;
    call.srcHost;
  };
  return pageable || requires(const CallStruct& call) {
    call.srcArray;
    call.dstHost;
  };
}

/// The memory that the call touches, as a driver reads its descriptor.
template <class CallStruct>
std::size_t touches_as_seen(const Emulator& e, const CallStruct& call,
                            Touch (&touched)[kMaxTouches]) {
  if constexpr (requires { call.pCopy; }) {
    const auto seen = as_seen(e, *call.pCopy);
    CallStruct looked_at = call;
    looked_at.pCopy = &seen;
    return touches(looked_at, touched);
  } else {
    return touches(call, touched);
  }
}

/// `perform`: false only checks whether the call would be done.
template <class CallStruct>
CUresult run_transfer(Emulator& e, const CallStruct& call, bool perform = true,
                      Judge judge = Judge::kCurrentContext) {
  Facts facts = e.facts();
  const Context* by = e.current_context();
  CUresult result = CUDA_SUCCESS;
  if constexpr (requires { call.hStream; }) result = use_stream(e, call.hStream, facts.place, by);
  if (result != CUDA_SUCCESS) return result;
  bool pageable = may_be_pageable<CallStruct>();
  if constexpr (requires { call.pCopy; }) {
    if (!call.pCopy) return CUDA_ERROR_INVALID_VALUE;
  }
  if (facts.place.context == Facts::Answer::kYes) {
    if constexpr (requires { call.dstContext; }) {
      result = use_contexts(e, call.dstContext, call.srcContext, call.ByteCount == 0, facts.place);
    } else if constexpr (requires { call.pCopy->dstContext; }) {
      const auto& d = *call.pCopy;
      const bool empty = d.WidthInBytes == 0 || d.Height == 0 || d.Depth == 0;
      result = use_contexts(e, d.dstContext, d.srcContext, empty, facts.place);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  Touch touched[kMaxTouches];
  const auto holder = [&](Address at) {
    const PlainAllocation* plain = e.plain.at(at);
    return e.model.mapping_at(at) ? Holder::kMapping
           : plain && plain->pool ? Holder::kPool
                                  : Holder::kOther;
  };
  if (facts.place.context == Facts::Answer::kYes && !well_formed(call, holder))
    return CUDA_ERROR_INVALID_VALUE;
  if constexpr (kMayUseArrays<CallStruct>) {
    ArrayUse arrays[kMostArrayUses];
    const Violations wrong = check_array_uses(e.model, arrays, array_uses(call, arrays));
    if (!wrong.empty()) return e.profile.answer(CallStruct::kEntryPoint, wrong);
  }
  const std::size_t count = touches_as_seen(e, call, touched);
  // A stream's context performs a fill; a copy needs the access of the current context's device,
  // whatever its stream (recorded on two H200s).
  constexpr bool kNamesContexts = requires { call.dstContext; }
  || requires { call.pCopy->dstContext; };
  const Context* current = e.current_context();
  const bool single = judge == Judge::kCurrentContext && count != 0 && !touched[0].fill;
  if (!kNamesContexts && single && current && current->alive) {
    by = current;
    facts.place.device = current->device;
  }
  const auto violations = check_touches(e.model, CallStruct::kEntryPoint, touched, count, facts);
  if (!violations.empty()) {
    result = e.profile.answer(CallStruct::kEntryPoint, violations);
    if (result == CUDA_ERROR_INVALID_CONTEXT) result = e.no_context();
    if (result != CUDA_SUCCESS) return result;
  }
  for (std::size_t i = 0; i < count; ++i) {
    // Pageable memory belongs to no device, whatever the other side is.
    if constexpr (requires { call.pCopy; }) {
      const auto type = touched[i].write ? call.pCopy->dstMemoryType : call.pCopy->srcMemoryType;
      pageable = type == CU_MEMORYTYPE_UNIFIED;  // has no effect on bytes of a mapping
    }
    result = check_unmapped(e, touched[i], pageable);
    if (result != CUDA_SUCCESS) return mistaken(e, call, violations, result);
    if (const auto odd = by ? quirk(e, touched[i], *by) : std::nullopt) return *odd;
  }
  const auto planned = plan(call);
  if constexpr (std::is_same_v<decltype(plan(call)), Copy>) {
    result = check_sides(e, planned);
    if (result != CUDA_SUCCESS) return mistaken(e, call, violations, result);
  }
  if (!perform) return CUDA_SUCCESS;
  if (Queues::late() && !Queues::inside()) {
    CUstream stream = nullptr;
    if constexpr (requires { call.hStream; }) stream = call.hStream;
    QueuedTransfer later{
        .entry = CallStruct::kEntryPoint, .count = count, .facts = facts, .what = planned};
    std::copy_n(touched, count, later.touched);
    constexpr bool kBlocking = !requires { call.hStream; };
    return mistaken(e, call, violations, queue(e, stream, later, kBlocking));
  }
  return mistaken(e, call, violations, execute(e, planned));
}

}  // namespace cuvmm::emulator
