// SPDX-License-Identifier: Apache-2.0
// The steps before each call of entry_points.def while work is queued (CUVMM_STREAMS=late): the
// seed may run some work, some calls wait for work, and after a fault nearly every call answers the
// fault.
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

/// Calls that need no usable context, and work after a fault too.
template <class C>
inline constexpr bool kDespiteFault =
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

inline CUresult wait_for_all(Emulator& e, const Context& current, Address freed) {
  const PlainAllocation* const plain = e.plain.at(freed);
  if (plain && plain->pool && !plain->coming) return CUDA_SUCCESS;
  const Context* const its = plain ? plain->context : nullptr;
  const CUresult result = wait_for(e, current);
  return result == CUDA_SUCCESS && its && its->alive && its != &current ? wait_for(e, *its)
                                                                        : result;
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
      if (!context) return CUDA_SUCCESS;
      if (context->fault != CUDA_SUCCESS) return context->fault;
      if constexpr (detail::kWaitsForAll<C>) {
        if (forgets("free-waits")) return CUDA_SUCCESS;
        Address freed = 0;
        if constexpr (requires { call.dptr; }) freed = call.dptr;
        return detail::wait_for_all(e, *context, freed);
      }
      return CUDA_SUCCESS;
    }
  });
  return result == CUDA_SUCCESS ? std::nullopt : std::optional(result);
}

}  // namespace cuvmm::emulator
