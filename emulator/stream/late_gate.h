// SPDX-License-Identifier: Apache-2.0
// The steps before each call of entry_points.def while work is queued (CUVMM_STREAMS=late), or
// while a context is lost: the seed may run some work, some calls wait for work, and after a fault
// nearly every call answers the fault.
#pragma once

#include <optional>
#include <type_traits>

#include "api/calls.h"
#include "emulator/base/mutation.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"

namespace cuvmm::emulator {

namespace detail {

template <class C, class... Those>
inline constexpr bool kAmong = (std::is_same_v<C, Those> || ...);

/// Calls that need no usable context, and work after a fault too, as on an H200. The calls of pools
/// that share memory with other processes were not tried there.
template <class C>
inline constexpr bool kDespiteFault =
    kAmong<C, calls::MemGetAllocationGranularity, calls::MemAddressReserve, calls::MemCreate,
           calls::MemMap, calls::MemSetAccess, calls::MemGetAccess,
           calls::MemGetAllocationPropertiesFromHandle, calls::MemRetainAllocationHandle,
           calls::MemExportToShareableHandle, calls::MemImportFromShareableHandle, calls::MemUnmap,
           calls::MemRelease, calls::MemAddressFree> ||
    kAmong<C, calls::MemPoolCreate, calls::MemPoolDestroy, calls::MemPoolGetAttribute,
           calls::MemPoolSetAttribute, calls::MemPoolTrimTo, calls::MemPoolSetAccess,
           calls::MemPoolGetAccess, calls::DeviceGetDefaultMemPool, calls::DeviceGetMemPool,
           calls::DeviceSetMemPool, calls::PointerGetAttribute, calls::PointerSetAttribute,
           calls::GraphExecUpdate, calls::GraphExecUpdate_v2, calls::GraphExecDestroy,
           calls::LibraryLoadData, calls::LibraryUnload> ||
    kAmong<C, calls::Init, calls::DriverGetVersion, calls::DeviceGet, calls::DeviceGetCount,
           calls::DeviceGetName, calls::DeviceGetAttribute, calls::DeviceCanAccessPeer,
           calls::DevicePrimaryCtxRetain, calls::DevicePrimaryCtxRelease,
           calls::DevicePrimaryCtxReset, calls::DevicePrimaryCtxGetState, calls::CtxGetCurrent,
           calls::CtxSetCurrent, calls::CtxPushCurrent, calls::CtxPopCurrent, calls::CtxGetDevice,
           calls::CtxDestroy, calls::CtxDetach, calls::GetErrorName, calls::GetErrorString>;

/// Calls that free memory only after the device has done all its work (observed on an H200 for
/// cuMemFree). Memory of a pool is freed at once (cuda.h, cuMemFree).
template <class C>
inline constexpr bool kWaitsForAll =
    kAmong<C, calls::MemFree, calls::MemFreeHost, calls::MemHostUnregister>;

/// `current`: null without a context.
inline CUresult wait_for_all(Emulator& e, const Context* current, Address freed) {
  const PlainAllocation* const plain = e.plain.at(freed);
  if (plain && plain->pool && !plain->coming) return CUDA_SUCCESS;
  const HostBlock* const block = plain ? nullptr : e.host.at(freed);
  const Context* const its = plain ? plain->context : block ? block->context : nullptr;
  const CUresult result = current ? wait_for(e, *current) : CUDA_SUCCESS;
  return result == CUDA_SUCCESS && its && its->alive && its != current ? wait_for(e, *its) : result;
}

}  // namespace detail

/// The answer to a call that a fault forbids; nothing where the call is to be made.
template <class C>
std::optional<CUresult> before_call(const C& call) noexcept {
  if (!ready()) return std::nullopt;
  const CUresult result = locked([&](Emulator& e) -> CUresult {
    e.queues.passed(e);
    const Context* const context = e.current_context();
    if constexpr (detail::kDespiteFault<C>) {
      return CUDA_SUCCESS;
    } else {
      if (context && context->fault != CUDA_SUCCESS) return context->fault;
      if constexpr (detail::kWaitsForAll<C>) {
        if (forgets("free-waits")) return CUDA_SUCCESS;
        Address freed = 0;
        if constexpr (requires { call.dptr; }) {
          freed = call.dptr;
        } else {
          freed = reinterpret_cast<Address>(call.p);
        }
        return detail::wait_for_all(e, context, freed);
      }
      return CUDA_SUCCESS;
    }
  });
  return result == CUDA_SUCCESS ? std::nullopt : std::optional(result);
}

}  // namespace cuvmm::emulator
