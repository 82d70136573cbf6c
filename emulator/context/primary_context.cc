// SPDX-License-Identifier: Apache-2.0
// Each device's primary context.
#include "emulator/context/end_context.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

template <class Body>
CUresult on_primary(CUdevice device, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    return e.valid_device(device) ? body(e, e.contexts.primary(device)) : CUDA_ERROR_INVALID_DEVICE;
  });
}

}  // namespace

CUresult run_base(const calls::DevicePrimaryCtxRetain& call) noexcept {
  return on_primary(call.dev, [&](Emulator& e, Context& context) -> CUresult {
    if (!call.ctx) return CUDA_ERROR_INVALID_VALUE;
    const CUresult fault = e.contexts.fault_of(call.dev);
    if (fault != CUDA_SUCCESS && !context.alive) return fault;
    ++context.references;
    context.alive = true;
    *call.ctx = context.handle();
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DevicePrimaryCtxRelease& call) noexcept {
  return on_primary(call.dev, [&](Emulator& e, Context& context) -> CUresult {
    if (context.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--context.references == 0) end_context(e, context);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DevicePrimaryCtxReset& call) noexcept {
  return on_primary(call.dev, [&](Emulator& e, Context& context) -> CUresult {
    end_context(e, context);  // its references stay, and the next retain revives the context
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DevicePrimaryCtxGetState& call) noexcept {
  return on_primary(call.dev, [&](Emulator&, Context& context) -> CUresult {
    if (!call.flags || !call.active) return CUDA_ERROR_INVALID_VALUE;
    *call.flags = context.flags;
    *call.active = context.alive;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuDevicePrimaryCtxSetFlags_v2, CUdevice device, unsigned flags) {
  return on_primary(device, [&](Emulator&, Context& context) -> CUresult {
    if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
    context.flags = flags;
    return CUDA_SUCCESS;
  });
}

// The first ABI takes the same parameters.
CUVMM_DRIVER_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

}  // namespace cuvmm::emulator
