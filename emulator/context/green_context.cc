// SPDX-License-Identifier: Apache-2.0
// Green contexts: streams on a part of a device, which use the memory of its primary context. The
// answers are an H100's.
#include "emulator/context/device_resource.h"
#include "emulator/context/end_context.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

constexpr unsigned kDefaultStream = 1;  // CU_GREEN_CTX_DEFAULT_STREAM: has to be set

template <class Body>
CUresult on_green(CUgreenCtx handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Context* const green = e.contexts.find(handle);
    if (!green) return CUDA_ERROR_INVALID_CONTEXT;
    return green->alive ? body(e, *green) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  });
}

}  // namespace

// Without a description, the context has the whole device.
CUVMM_DRIVER_FUNCTION(cuGreenCtxCreate, CUgreenCtx* out, CUdevResourceDesc description,
                      CUdevice device, unsigned flags) {
  return locked([&](Emulator& e) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;  // before the flags (an H200)
    if (flags != kDefaultStream) return CUDA_ERROR_INVALID_VALUE;
    DevicePart part = whole_device(e, device);
    if (description) {
      const DevicePart* const described = e.contexts.described(description);
      if (!described || described->device != device) return CUDA_ERROR_INVALID_VALUE;
      part = *described;
    }
    Context& primary = e.contexts.primary(device);
    ++primary.references;
    primary.alive = true;
    *out = e.contexts.create_green(part).green();
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::GreenCtxDestroy& call) noexcept {
  return on_green(call.hCtx, [](Emulator& e, Context& green) -> CUresult {
    for (CUstream stream : e.streams.of(green)) e.captures.forget(stream);
    e.streams.end_green(green);
    green.alive = false;
    Context& primary = *green.shares;
    if (primary.references != 0 && --primary.references == 0) end_context(e, primary);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxFromGreenCtx, CUcontext* out, CUgreenCtx handle) {
  return on_green(handle, [&](Emulator&, Context& green) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = green.handle();
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGreenCtxGetDevResource, CUgreenCtx handle, CUdevResource* out,
                      CUdevResourceType type) {
  return on_green(handle, [&](Emulator&, Context& green) {
    return write_resource(green.part, true, out, type);
  });
}

CUVMM_DRIVER_FUNCTION(cuGreenCtxGetId, CUgreenCtx handle, unsigned long long* out) {
  return on_green(handle, [&](Emulator&, Context& green) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = green.id;
    return CUDA_SUCCESS;
  });
}

// Streams of green contexts never wait for the legacy stream.
CUVMM_DRIVER_FUNCTION(cuGreenCtxStreamCreate, CUstream* out, CUgreenCtx handle, unsigned flags,
                      int priority) {
  return on_green(handle, [&](Emulator& e, Context& green) -> CUresult {
    if (!out || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *out = e.streams.create_stream(green.shares, flags, clamped_priority(priority), &green);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuStreamGetGreenCtx, CUstream handle, CUgreenCtx* out) {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    const Stream* const stream = e.streams.find(handle);
    const bool by_default = Streams::is_default(handle);
    if (!stream && !by_default) return e.streams.no_stream(handle);
    if (by_default && !e.current_context()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    Context* const green = stream ? stream->green : ContextStack::of_this_thread().green();
    *out = green ? green->green() : nullptr;
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
