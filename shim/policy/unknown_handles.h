// SPDX-License-Identifier: Apache-2.0
// Handles and pools that a call names and that the model does not know.
#pragma once

#include <optional>
#include <type_traits>

#include "shim/policy/policies.h"

namespace cuvmm::shim {

/// The handles that a call takes by value, in parameters called `handle`, `mcHandle` and
/// `memHandle`: visit(handle) for each.
template <class CallStruct, class Visitor>
void visit_handles(const CallStruct& call, Visitor&& visit) {
  const auto one = [&](const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, CUmemGenericAllocationHandle>) {
      visit(value);
    }
  };
  if constexpr (requires { call.handle; }) one(call.handle);
  if constexpr (requires { call.mcHandle; }) one(call.mcHandle);
  if constexpr (requires { call.memHandle; }) one(call.memHandle);
}

/// The handle that the model does not know; nullopt if the call names two such handles, because a
/// fact would not say which of them it means.
template <class CallStruct>
std::optional<CUmemGenericAllocationHandle> unknown_handle(const Model& model,
                                                           const CallStruct& call) {
  int count = 0;
  CUmemGenericAllocationHandle unknown = 0;
  visit_handles(call, [&](CUmemGenericAllocationHandle handle) {
    if (model.allocation(handle)) return;
    ++count;
    unknown = handle;
  });
  if (count != 1) return std::nullopt;
  return unknown;
}

/// A pool that the model does not know, and that the call takes by value in a parameter called
/// `pool` or `memPool`, or that holds the memory at the call's address; null if the call names
/// none.
template <class CallStruct>
CUmemoryPool unknown_pool(const Model& model, const CallStruct& call) {
  if constexpr (requires { Policy<CallStruct>::unknown_pool(model, call); }) {
    return Policy<CallStruct>::unknown_pool(model, call);
  } else if constexpr (requires(CUmemoryPool pool) { pool = call.pool; }) {
    return call.pool && !model.pools().find(call.pool) ? call.pool : nullptr;
  } else if constexpr (requires(CUmemoryPool pool) { pool = call.memPool; }) {
    return call.memPool && !model.pools().find(call.memPool) ? call.memPool : nullptr;
  } else {
    return nullptr;
  }
}

}  // namespace cuvmm::shim
