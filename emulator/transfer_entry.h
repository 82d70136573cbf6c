// The way through every copy and fill: whose device, allowed by the rules, memory of another kind.
#pragma once

#include "emulator/entry.h"
#include "emulator/transfer_plan.h"

namespace cuvmm::emulator {

/// A stream's context, and its device into facts; INVALID_HANDLE for what is not a stream.
inline CUresult use_stream(const Emulator& e, CUstream stream, Facts& facts, const Context*& by) {
  if (Streams::is_default(stream)) return CUDA_SUCCESS;
  const Stream* found = e.streams.find(stream);
  if (e.no_context() == CUDA_ERROR_CONTEXT_IS_DESTROYED) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  by = found->context;
  facts.context = found->context->alive ? Facts::Answer::kYes : Facts::Answer::kNo;
  facts.device = found->context->device;
  return CUDA_SUCCESS;
}

/// Devices of the contexts that a peer copy names; null stands for the current one.
inline CUresult use_contexts(const Emulator& e, CUcontext to, CUcontext from, Facts& facts) {
  const Context* destination = to ? e.contexts.find(to) : e.current_context();
  const Context* source = from ? e.contexts.find(from) : e.current_context();
  if (!destination || !source || !destination->alive || !source->alive) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  facts.device = destination->device;
  facts.peer_device = source->device;
  return CUDA_SUCCESS;
}

/// `perform`: false only looks whether it would be done.
template <class CallStruct>
CUresult run_transfer(Emulator& e, const CallStruct& call, bool perform = true) {
  Facts facts = e.facts();
  const Context* by = e.current_context();
  CUresult result = CUDA_SUCCESS;
  if constexpr (requires { call.hStream; }) result = use_stream(e, call.hStream, facts, by);
  if (result != CUDA_SUCCESS) return result;
  bool pageable = requires { call.dst; };
  if constexpr (requires { call.pCopy; }) {
    if (!call.pCopy) return CUDA_ERROR_INVALID_VALUE;
  }
  if (facts.context == Facts::Answer::kYes) {
    if constexpr (requires { call.dstContext; }) {
      result = use_contexts(e, call.dstContext, call.srcContext, facts);
    } else if constexpr (requires { call.pCopy->dstContext; }) {
      result = use_contexts(e, call.pCopy->dstContext, call.pCopy->srcContext, facts);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  Touch touched[kMaxTouches];
  const auto holder = [&](Address at) {
    const PlainAllocation* plain = e.plain_at(at);
    return e.model.mapping_at(at) ? Holder::kMapping
           : plain && plain->pool ? Holder::kPool
                                  : Holder::kOther;
  };
  if (facts.context == Facts::Answer::kYes && !well_formed(call, holder))
    return CUDA_ERROR_INVALID_VALUE;
  const std::size_t count = touches(call, touched);
  const auto violations = check_touches(e.model, CallStruct::kEntryPoint, touched, count, facts);
  bool unchecked = false;  // only by a mutation
  if (!violations.empty()) {
    result = e.profile.answer(CallStruct::kEntryPoint, violations);
    if (result == CUDA_ERROR_INVALID_CONTEXT) result = e.no_context();
    if (result != CUDA_SUCCESS) return result;
    unchecked = mutation().hides_one_of(violations);
  }
  for (std::size_t i = 0; i < count; ++i) {
    // Pageable memory is no device's, whatever the other side is.
    if constexpr (requires { call.pCopy; }) {
      const auto type = touched[i].write ? call.pCopy->dstMemoryType : call.pCopy->srcMemoryType;
      pageable = type == CU_MEMORYTYPE_UNIFIED;
    }
    result = check_unmapped(e, touched[i], pageable);
    if (result != CUDA_SUCCESS) return unchecked ? kUnperformed : result;
    if (const auto odd = by ? quirk(e, touched[i], *by) : std::nullopt) return *odd;
  }
  if (!perform) return CUDA_SUCCESS;
  result = execute(e, plan(call));
  return result != CUDA_SUCCESS && unchecked ? kUnperformed : result;
}

}  // namespace cuvmm::emulator
