// SPDX-License-Identifier: Apache-2.0
// The functions that launch kernels.
#include <utility>

#include "emulator/code/function.h"
#include "emulator/code/launch.h"
#include "emulator/context/captured.h"
#include "emulator/entry/base.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"
#include "emulator/ptx/kernel.h"
#include "emulator/stream/work.h"

namespace cuvmm::emulator {

namespace {

Work skipped(const char* entry) {
  return [entry](Emulator&) {
    skip_launch(entry);
    return CUDA_SUCCESS;
  };
}

CUresult queue(Emulator& e, Work work, CUstream stream) {
  if (Captures::any()) {
    if (const auto captured = captured_launch(e, work, stream)) return *captured;
  }
  return submit(e, stream, std::move(work));
}

// What cannot be found is skipped as ever: the handle may be another library's.
CUresult prepare(Emulator& e, Context& context, CUfunction handle, const Launch& launch,
                 Work& work) {
  Function* function = nullptr;
  if (find_function(e, context, handle, function) == CUDA_SUCCESS) {
    return prepare(e, context, *function, launch, work);
  }
  work = skipped(launch.entry);
  return CUDA_SUCCESS;
}

CUresult run(CUfunction function, const Launch& launch, CUstream stream) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!possible(launch.shape)) return CUDA_ERROR_INVALID_VALUE;
    Work work;
    const CUresult prepared = prepare(e, context, function, launch, work);
    if (prepared != CUDA_SUCCESS) return prepared;
    return queue(e, std::move(work), stream);
  });
}

}  // namespace

CUresult queue_skipped_launch(const char* function, CUstream stream) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    return queue(e, skipped(function), stream);
  });
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
  return run(call.f,
             {"cuLaunchCooperativeKernel",
              {{call.gridDimX, call.gridDimY, call.gridDimZ},
               {call.blockDimX, call.blockDimY, call.blockDimZ},
               call.sharedMemBytes},
              call.kernelParams},
             call.hStream);
}

CUresult run_base(const calls::LaunchKernelEx& call) noexcept {
  const CUlaunchConfig* const config = call.config;
  Launch launch{"cuLaunchKernelEx", {{}, {}, 0}, call.kernelParams, call.extra};
  if (config) {
    launch.shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes};
  }
  return run(call.f, launch, config ? config->hStream : nullptr);
}

// No profiler is attached, as for most programs that call these.
extern "C" __attribute__((visibility("default"))) CUresult emulated_cuProfilerStart() __asm__(
    "cuProfilerStart");
extern "C" CUresult emulated_cuProfilerStart() {
  return with_context([](Emulator&, Context&) { return CUDA_SUCCESS; });
}
CUVMM_DRIVER_ALIAS(cuProfilerStop, cuProfilerStart);

}  // namespace cuvmm::emulator
