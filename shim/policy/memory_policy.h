// SPDX-License-Identifier: Apache-2.0
// Policies of plain memory: what is made belongs to the current context.
#pragma once

#include <type_traits>

#include "shim/policy/ipc_policy.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

template <>
struct Policy<calls::MemAlloc> : AsksContext<calls::MemAlloc> {};
template <>
struct Policy<calls::MemAllocPitch> : AsksContext<calls::MemAllocPitch> {};
template <>
struct Policy<calls::MemAllocManaged> : AsksContext<calls::MemAllocManaged> {};
template <>
struct Policy<calls::MemAllocHost> : AsksContext<calls::MemAllocHost> {};
template <>
struct Policy<calls::MemHostAlloc> : AsksContext<calls::MemHostAlloc> {};
template <>
struct Policy<calls::MemHostRegister> : AsksContext<calls::MemHostRegister> {};
template <>
struct Policy<calls::MemGetAddressRange> : AsksContext<calls::MemGetAddressRange> {};

template <>
struct Policy<calls::StreamDestroy> {
  using Call = calls::StreamDestroy;
  static void ask(Desk& desk, const Call& call, Step<Call>&) {
    if (desk.work.active()) desk.work.destroy_stream(call.hStream);
  }
};

/// A trace leaves out the program's own memory, its streams, which a program text has not, and its
/// arrays, which are many and mostly no concern of ours.
template <class CallStruct>
inline constexpr bool kUntraced = std::is_same_v<CallStruct, calls::MemHostRegister> ||
                                  std::is_same_v<CallStruct, calls::MemHostUnregister> ||
                                  std::is_same_v<CallStruct, calls::PointerSetAttribute> ||
                                  std::is_same_v<CallStruct, calls::StreamDestroy> ||
                                  std::is_same_v<CallStruct, calls::ArrayCreate> ||
                                  std::is_same_v<CallStruct, calls::Array3DCreate> ||
                                  std::is_same_v<CallStruct, calls::MipmappedArrayCreate> ||
                                  std::is_same_v<CallStruct, calls::MipmappedArrayGetLevel> ||
                                  std::is_same_v<CallStruct, calls::ArrayDestroy> ||
                                  std::is_same_v<CallStruct, calls::MipmappedArrayDestroy>;

}  // namespace cuvmm::shim
