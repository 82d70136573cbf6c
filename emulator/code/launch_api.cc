// SPDX-License-Identifier: Apache-2.0
// The functions that launch kernels.
#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "emulator/base/say.h"
#include "emulator/capture/captured.h"
#include "emulator/code/function.h"
#include "emulator/code/kernel.h"
#include "emulator/code/kernel_params.h"
#include "emulator/code/launch.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"

namespace cuvmm::emulator {

namespace {

Work skipped(const char* entry) {
  return [entry](Emulator&) {
    skip_launch(entry);
    return CUDA_SUCCESS;
  };
}

// A launch of a handle that cannot be found is skipped, because the handle may be another
// library's; `function` is then null. A function that went with its module is refused, and so is a
// function of another context than the stream's (an H100).
CUresult prepare(Emulator& e, Context& context, CUfunction handle, const Launch& launch,
                 Function*& function, Work& work) {
  const CUresult found = find_function(e, context, handle, function);
  if (found == CUDA_SUCCESS) {
    const bool elsewhere = function->module->context != &context;
    return elsewhere ? CUDA_ERROR_INVALID_HANDLE : prepare(e, context, *function, launch, work);
  }
  if (found == CUDA_ERROR_INVALID_HANDLE && e.modules.gave_out(handle)) return found;
  function = nullptr;
  work = skipped(launch.entry);
  return CUDA_SUCCESS;
}

using Attributes = std::span<const CUlaunchAttribute>;

std::shared_ptr<GraphNode> node_of(CUfunction handle, const Function* function, Context& context,
                                   const Launch& launch, Attributes attributes, Work work) {
  auto node = std::make_shared<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_KERNEL;
  node->run = std::move(work);
  node->params = std::make_shared<const KernelParams>(
      node_params(handle, launch), function ? &function->code : nullptr, context);
  if (function) node->check = [handle](Emulator& e) { return e.modules.loaded(handle); };
  for (const CUlaunchAttribute& each : attributes) node->attributes[each.id] = each.value;
  return node;
}

// `node` makes the graph node of a captured launch.
template <class Node>
CUresult queue(Emulator& e, const Node& node, const Work& work, CUstream stream) {
  if (Captures::any()) {
    if (const auto captured = captured_launch(e, node, stream)) return *captured;
  }
  return submit(e, stream, work);
}

// INVALID_VALUE for an attribute that no driver has (an H100 at number 99).
CUresult take(Attributes attributes, Launch& launch) {
  constexpr unsigned kNumbers = 32;  // more than any version of CUDA has
  for (const CUlaunchAttribute& each : attributes) {
    if (static_cast<unsigned>(each.id) >= kNumbers) return CUDA_ERROR_INVALID_VALUE;
    const auto& cluster = each.value.clusterDim;
    if (each.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      launch.shape.together = each.value.cooperative != 0;
    if (each.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      launch.cluster = {cluster.x, cluster.y, cluster.z};
  }
  return CUDA_SUCCESS;
}

// As locked(), with the context that a launch on the stream runs in, whichever context is current:
// body(e, context).
template <class Body>
CUresult in_context_of(CUstream stream, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const bool named = !Streams::is_default(stream);
    const Stream* const found = named ? e.streams.find(stream) : nullptr;
    if (named && !found) return e.streams.no_stream(stream);
    Context* const context = found ? found->context : e.current_context();
    if (!context) return e.no_context();
    return context->fault == CUDA_SUCCESS ? body(e, *context) : context->fault;
  });
}

CUresult run(CUfunction handle, Launch launch, CUstream stream,
             Attributes attributes = {}) noexcept {
  return in_context_of(stream, [&](Emulator& e, Context& context) -> CUresult {
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    if (!possible(launch.shape)) return CUDA_ERROR_INVALID_VALUE;
    if (!kernels::present()) return refuse_without_kernels();
    if (e.runs_kernels()) {
      const CUresult taken = take(attributes, launch);
      if (taken != CUDA_SUCCESS) return taken;
    }
    Function* function = nullptr;
    Work work;
    const CUresult prepared = prepare(e, context, handle, launch, function, work);
    if (prepared != CUDA_SUCCESS) return prepared;
    return queue(
        e, [&] { return node_of(handle, function, context, launch, attributes, work); }, work,
        stream);
  });
}

}  // namespace

CUresult queue_skipped_launch(const char* function, CUstream stream) noexcept {
  return in_context_of(stream, [&](Emulator& e, Context& context) -> CUresult {
    if (!kernels::present()) return refuse_without_kernels();
    const Work work = skipped(function);
    const Launch launch{function, {{1, 1, 1}, {1, 1, 1}, 0}, nullptr};
    return queue(
        e, [&] { return node_of(nullptr, nullptr, context, launch, {}, work); }, work, stream);
  });
}

bool is_kernel(const void* handle) noexcept {
  bool is = false;
  locked([&](Emulator& e) -> CUresult {
    is = e.modules.gave_out(static_cast<CUfunction>(const_cast<void*>(handle)));
    return CUDA_SUCCESS;
  });
  return is;
}

CUresult run_base(const calls::LaunchKernel& call) noexcept {
  return run(call.f,
             {"cuLaunchKernel",
              {{call.gridDimX, call.gridDimY, call.gridDimZ},
               {call.blockDimX, call.blockDimY, call.blockDimZ},
               call.sharedMemBytes},
              call.kernelParams,
              call.extra},
             call.hStream);
}

CUresult run_base(const calls::LaunchCooperativeKernel& call) noexcept {
  CUlaunchAttribute together{};
  together.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  together.value.cooperative = 1;
  return run(call.f,
             {"cuLaunchCooperativeKernel",
              {{call.gridDimX, call.gridDimY, call.gridDimZ},
               {call.blockDimX, call.blockDimY, call.blockDimZ},
               call.sharedMemBytes},
              call.kernelParams},
             call.hStream, {&together, 1});
}

CUresult run_base(const calls::LaunchKernelEx& call) noexcept {
  const CUlaunchConfig* const config = call.config;
  Launch launch{"cuLaunchKernelEx", {{}, {}, 0}, call.kernelParams, call.extra};
  if (config) {
    launch.shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes};
  }
  if (config && config->numAttrs != 0 && !config->attrs) return CUDA_ERROR_INVALID_VALUE;
  Attributes attributes;
  if (config) attributes = {config->attrs, config->numAttrs};
  return run(call.f, launch, config ? config->hStream : nullptr, attributes);
}

// No profiler is attached, which is the usual case of programs that call these functions.
extern "C" __attribute__((visibility("default"))) CUresult emulated_cuProfilerStart() __asm__(
    "cuProfilerStart");
extern "C" CUresult emulated_cuProfilerStart() {
  return with_context([](Emulator&, Context&) { return CUDA_SUCCESS; });
}
CUVMM_DRIVER_ALIAS(cuProfilerStop, cuProfilerStart);

}  // namespace cuvmm::emulator
