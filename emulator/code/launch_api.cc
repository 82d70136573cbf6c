// SPDX-License-Identifier: Apache-2.0
// The functions that launch kernels.
#include "emulator/code/launch.h"
#include "emulator/context/captured.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {

namespace {

struct Shape {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z;

  /// Whether a GPU of the emulated kind can have such a grid.
  bool possible() const {
    constexpr unsigned kGridX = 0x7fffffff, kGrid = 65535, kBlock = 1024, kBlockZ = 64;
    const bool empty = !grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z;
    return !empty && grid_x <= kGridX && grid_y <= kGrid && grid_z <= kGrid && block_x <= kBlock &&
           block_y <= kBlock && block_z <= kBlockZ && block_x * block_y * block_z <= kBlock;
  }
};

CUresult skip(const char* entry, CUfunction function, const Shape& shape,
              CUstream stream) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!shape.possible()) return CUDA_ERROR_INVALID_VALUE;
    if (Captures::any()) {
      if (const auto captured = captured_launch(e, entry, stream)) return *captured;
    }
    skip_launch(entry);
    return CUDA_SUCCESS;
  });
}

}  // namespace

// Shared bytes and parameters are for the kernel alone.
CUVMM_DRIVER_FUNCTION(cuLaunchKernel, CUfunction function, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                      unsigned, CUstream stream, void**, void**) {
  return skip("cuLaunchKernel", function, {grid_x, grid_y, grid_z, block_x, block_y, block_z},
              stream);
}
CUVMM_DRIVER_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

CUVMM_DRIVER_FUNCTION(cuLaunchCooperativeKernel, CUfunction function, unsigned grid_x,
                      unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned, CUstream stream, void**) {
  return skip("cuLaunchCooperativeKernel", function,
              {grid_x, grid_y, grid_z, block_x, block_y, block_z}, stream);
}
CUVMM_DRIVER_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

CUVMM_DRIVER_FUNCTION(cuLaunchKernelEx, const CUlaunchConfig* config, CUfunction function, void**,
                      void**) {
  constexpr Shape kNone{};
  const Shape shape = config ? Shape{config->gridDimX,  config->gridDimY,  config->gridDimZ,
                                     config->blockDimX, config->blockDimY, config->blockDimZ}
                             : kNone;
  return skip("cuLaunchKernelEx", function, shape, config ? config->hStream : nullptr);
}
CUVMM_DRIVER_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

// No profiler is attached, as for most programs that call these.
extern "C" __attribute__((visibility("default"))) CUresult emulated_cuProfilerStart() __asm__(
    "cuProfilerStart");
extern "C" CUresult emulated_cuProfilerStart() {
  return with_context([](Emulator&, Context&) { return CUDA_SUCCESS; });
}
CUVMM_DRIVER_ALIAS(cuProfilerStop, cuProfilerStart);

}  // namespace cuvmm::emulator
