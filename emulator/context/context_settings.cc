// SPDX-License-Identifier: Apache-2.0
// Limits, flags and preferences of the current context: stored, and without effect.
#include "emulator/context/device_resource.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

CUVMM_DRIVER_FUNCTION(cuCtxGetFlags, unsigned* flags) {
  return locked([&](Emulator&) -> CUresult {
    const Context* context = ContextStack::of_this_thread().current();  // may have ended
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxSetFlags, unsigned flags) {
  return with_context([&](Emulator&, Context& context) -> CUresult {
    if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
    context.flags = flags;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxGetLimit, size_t* value, CUlimit limit) {
  return with_context([&](Emulator&, Context& context) -> CUresult {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (static_cast<unsigned>(limit) >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = context.limits[limit];
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxSetLimit, CUlimit limit, size_t value) {
  return with_context([&](Emulator&, Context& context) -> CUresult {
    if (static_cast<unsigned>(limit) >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    context.limits[limit] = value;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxGetStreamPriorityRange, int* least, int* greatest) {
  return with_context([&](Emulator&, Context&) -> CUresult {
    constexpr int kGreatest = -5;
    if (least) *least = 0;
    if (greatest) *greatest = kGreatest;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxGetCacheConfig, CUfunc_cache* config) {
  return with_context([&](Emulator&, Context& context) -> CUresult {
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    *config = context.cache;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxSetCacheConfig, CUfunc_cache config) {
  return with_context([&](Emulator&, Context& context) -> CUresult {
    if (static_cast<unsigned>(config) > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    context.cache = config;
    return CUDA_SUCCESS;
  });
}

// Peers can reach plain memory without a further condition; the call is checked and otherwise has
// no effect. VMM memory never depends on it: there only cuMemSetAccess counts.
CUresult run_base(const calls::CtxEnablePeerAccess& call) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    const Context* other = e.contexts.find(call.peerContext);
    if (call.Flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (!other || !other->alive) return CUDA_ERROR_INVALID_CONTEXT;
    // A device is no peer of itself (an H100).
    const bool peers =
        other->device != context.device && e.can_reach(context.device, other->device);
    if (!peers) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    const bool added = context.peers.insert(other).second;
    return added ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxDisablePeerAccess, CUcontext peer) {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    const Context* other = e.contexts.find(peer);
    if (!other) return CUDA_ERROR_INVALID_CONTEXT;
    return context.peers.erase(other) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceGetExecAffinitySupport, int* supported, CUexecAffinityType type,
                      CUdevice device) {
  return locked([&](Emulator& e) -> CUresult {
    if (!supported || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *supported = 0;
    return CUDA_SUCCESS;
  });
}

// A context without limits on its multiprocessors has them all.
CUVMM_DRIVER_FUNCTION(cuCtxGetExecAffinity, CUexecAffinityParam* out, CUexecAffinityType type) {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!out || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
    out->type = type;
    out->param.smCount.val = whole_device(e, context.device).count;
    return CUDA_SUCCESS;
  });
}

extern "C" __attribute__((visibility("default"))) CUresult
emulated_cuCtxResetPersistingL2Cache() __asm__("cuCtxResetPersistingL2Cache");
extern "C" CUresult emulated_cuCtxResetPersistingL2Cache() {
  return with_context([](Emulator&, Context&) { return CUDA_SUCCESS; });
}

// Banks of shared memory have one size since compute capability 5.0.
CUVMM_DRIVER_FUNCTION(cuCtxGetSharedMemConfig, CUsharedconfig* out) {
  return with_context([&](Emulator&, Context&) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_FUNCTION(cuCtxSetSharedMemConfig, CUsharedconfig config) {
  return with_context([&](Emulator&, Context&) -> CUresult {
    return config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
  });
}

// Nothing writes from outside here, so all writes have arrived.
CUVMM_DRIVER_FUNCTION(cuFlushGPUDirectRDMAWrites, CUflushGPUDirectRDMAWritesTarget target,
                      CUflushGPUDirectRDMAWritesScope scope) {
  return with_context([&](Emulator&, Context&) -> CUresult {
    const bool known = target == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX &&
                       (scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER ||
                        scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace cuvmm::emulator
