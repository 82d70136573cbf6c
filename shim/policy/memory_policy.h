// SPDX-License-Identifier: Apache-2.0
// Policies of plain memory: new memory belongs to the current context.
#pragma once

#include <type_traits>

#include "shim/policy/ipc_policy.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

template <>
struct Policy<calls::MemAlloc> : AsksContext<calls::MemAlloc> {};
template <>
struct Policy<calls::MemAllocPitch> : AsksContext<calls::MemAllocPitch> {};
/// Memory that the host reads and writes as kernels do.
template <class CallStruct>
struct ReachesHost : AsksContext<CallStruct> {
  static void made(PolicyResources& resources, const CallStruct& call, Step<CallStruct>&) {
    resources.work.reaches_host(address_of(call), call.bytesize);
    // A look at the pages is a system call, so on a real driver no copy of registered memory looks.
    if constexpr (std::is_same_v<CallStruct, calls::MemHostRegister>) {
      if (resources.driver.emulated())
        resources.work.may_lose_pages(address_of(call), call.bytesize);
    }
  }

 private:
  static Address address_of(const CallStruct& call) {
    if constexpr (requires { call.dptr; }) {
      return *call.dptr;
    } else if constexpr (requires { call.pp; }) {
      return reinterpret_cast<std::uintptr_t>(*call.pp);
    } else {
      return reinterpret_cast<std::uintptr_t>(call.p);
    }
  }
};
template <>
struct Policy<calls::MemAllocManaged> : ReachesHost<calls::MemAllocManaged> {};
template <>
struct Policy<calls::MemAllocHost> : ReachesHost<calls::MemAllocHost> {};
template <>
struct Policy<calls::MemHostAlloc> : ReachesHost<calls::MemHostAlloc> {};
template <>
struct Policy<calls::MemHostRegister> : ReachesHost<calls::MemHostRegister> {};
/// Memory of the host ends.
template <class CallStruct>
struct EndsOnHost {
  static void ask(PolicyResources& resources, const CallStruct& call, Step<CallStruct>&) {
    Address base = 0;
    Size size = 0;
    {
      const Locked lock(resources.mutex);
      const PlainMemory* const known =
          resources.history.model.memory().at(reinterpret_cast<std::uintptr_t>(call.p));
      if (known) base = known->base, size = known->size;
    }
    if (size != 0) resources.work.may_lose_pages(base, size);
  }
};
template <>
struct Policy<calls::MemFreeHost> : EndsOnHost<calls::MemFreeHost> {};
template <>
struct Policy<calls::MemHostUnregister> : EndsOnHost<calls::MemHostUnregister> {};
template <>
struct Policy<calls::MemGetAddressRange> : AsksContext<calls::MemGetAddressRange> {};

template <>
struct Policy<calls::StreamDestroy> {
  using Call = calls::StreamDestroy;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>&) {
    if (resources.work.active()) resources.work.destroy_stream(call.hStream);
  }
};

/// A trace leaves out the program's own memory; its streams, which a program text does not have;
/// and its arrays, because programs make many and few of them matter to a rule.
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
