// SPDX-License-Identifier: Apache-2.0
// Contexts: creation, destruction, the current one.
#include "emulator/base/mutation.h"
#include "emulator/context/end_context.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"

namespace cuvmm::emulator {

namespace {

/// CUctxCreateParams, which CUDA 12.4's header lacks: all zero asks for a plain context.
struct CreateParams {
  void* affinity;
  int affinities;
  void* shared_with_graphics;  ///< CUDA in Graphics

  bool wants_anything() const { return affinity || affinities || shared_with_graphics; }
};

ContextStack& stack() { return ContextStack::of_this_thread(); }

CUresult create(CUcontext* out, unsigned flags, CUdevice device) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!out || (flags & ~unsigned{CU_CTX_FLAGS_MASK})) return CUDA_ERROR_INVALID_VALUE;
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (const CUresult fault = e.contexts.fault_of(device); fault != CUDA_SUCCESS) return fault;
    Context& context = e.contexts.create(device, flags);
    stack().push(&context);
    *out = context.handle();
    return CUDA_SUCCESS;
  });
}

// A primary context that has ended is revived by the next retain: until then calls that need a
// context answer CONTEXT_IS_DESTROYED.
// So do such calls while a green context is current that has ended (an H100).
bool may_be_current(const Context* context) {
  return context && (context->alive || context->primary || context->shares);
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuCtxCreate_v2, CUcontext* context, unsigned flags, CUdevice device) {
  return create(context, flags, device);
}

// The affinity list names execution resources, of which the emulator has none to divide.
CUVMM_DRIVER_FUNCTION(cuCtxCreate_v3, CUcontext* context, void* affinity, int affinities,
                      unsigned flags, CUdevice device) {
  if (affinities != 0 && !affinity) return CUDA_ERROR_INVALID_VALUE;  // an H200
  if (affinity || affinities) return CUDA_ERROR_NOT_SUPPORTED;
  return create(context, flags, device);
}

CUVMM_DRIVER_FUNCTION(cuCtxCreate_v4, CUcontext* context, const CreateParams* params,
                      unsigned flags, CUdevice device) {
  if (params && params->wants_anything()) return CUDA_ERROR_NOT_SUPPORTED;
  return create(context, flags, device);
}

CUresult run_base(const calls::CtxDestroy& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Context* context = e.contexts.find_itself(call.ctx);
    if (!context || context->primary || context->shares || !context->alive)
      return CUDA_ERROR_INVALID_CONTEXT;
    end_context(e, *context);
    if (stack().current() == context) stack().pop();
    return CUDA_SUCCESS;
  });
}

// Nothing here attaches to a context, so each context has a single user.
CUresult run_base(const calls::CtxDetach& call) noexcept {
  return run_base(calls::CtxDestroy{.ctx = call.ctx});
}

CUresult run_base(const calls::CtxSetCurrent& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Context* context = e.contexts.find_itself(call.ctx);
    if (call.ctx && !may_be_current(context)) return CUDA_ERROR_INVALID_CONTEXT;
    stack().set(context);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::CtxGetCurrent& call) noexcept {
  return locked([&](Emulator&) -> CUresult {
    if (!call.ctx) return CUDA_ERROR_INVALID_VALUE;
    Context* context = stack().current();
    *call.ctx = context ? context->handle() : nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::CtxPushCurrent& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Context* context = e.contexts.find_itself(call.ctx);
    if (!may_be_current(context)) return CUDA_ERROR_INVALID_CONTEXT;
    stack().push(context, true);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::CtxPopCurrent& call) noexcept {
  return locked([&](Emulator&) -> CUresult {
    Context* context = stack().current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    stack().pop();
    if (call.ctx) *call.ctx = context->handle();
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::CtxGetDevice& call) noexcept {
  return locked([&](Emulator&) -> CUresult {
    const Context* context = stack().current();  // may have ended
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!call.device) return CUDA_ERROR_INVALID_VALUE;
    *call.device = context->device;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxGetDevice_v2, CUdevice* device, CUcontext handle) {
  if (!handle) return run_base(calls::CtxGetDevice{.device = device});
  return locked([&](Emulator& e) -> CUresult {
    const Context* context = e.contexts.find(handle);
    if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::CtxSynchronize&) noexcept {
  return with_context([](Emulator& e, Context& context) {
    return forgets("context-sync") ? CUDA_SUCCESS : wait_for(e, context);
  });
}

CUresult run_base(const calls::CtxSynchronize_v2& call) noexcept {
  if (!call.ctx) return run_base(calls::CtxSynchronize{});
  return locked([&](Emulator& e) -> CUresult {
    const Context* context = e.contexts.find(call.ctx);
    return context && context->alive ? wait_for(e, *context) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxGetApiVersion, CUcontext handle, unsigned* version) {
  return locked([&](Emulator& e) -> CUresult {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    const Context* context = handle ? e.contexts.find(handle) : e.current_context();
    if (!handle && !context) return e.no_context();
    if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
    constexpr unsigned kContextApi = 3020;
    *version = kContextApi;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxGetId, CUcontext handle, unsigned long long* id) {
  return locked([&](Emulator& e) -> CUresult {
    const Context* context = handle ? e.contexts.find_itself(handle) : stack().current();
    if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
    if (!handle && context->fault != CUDA_SUCCESS) return context->fault;  // an H200
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
