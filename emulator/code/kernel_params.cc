// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/kernel_params.h"

#include <algorithm>
#include <cstring>

namespace cuvmm::emulator {

KernelParams::KernelParams(const CUDA_KERNEL_NODE_PARAMS_v3& asked, const kernels::KernelCode* code,
                           Context& context)
    : params_(asked), context_(context) {
  params_.ctx = context.handle();
  params_.kernelParams = nullptr;
  params_.extra = nullptr;
  if (asked.kernelParams && code && code->parameters) keep(asked.kernelParams, *code->parameters);
  if (asked.extra) keep_packed(asked.extra);
}

void KernelParams::keep(void** arguments, const std::vector<kernels::Parameter>& layout) {
  std::size_t end = 0;
  for (const kernels::Parameter& each : layout) end = std::max(end, each.offset + each.size);
  bytes_.resize(end);
  for (std::size_t i = 0; i < layout.size() && arguments[i]; ++i) {
    char* const to = bytes_.data() + layout[i].offset;
    std::memcpy(to, arguments[i], layout[i].size);
    pointers_.push_back(to);
  }
  params_.kernelParams = pointers_.empty() ? nullptr : pointers_.data();
}

void KernelParams::keep_packed(void** extra) {
  const void* buffer = nullptr;
  constexpr int kMost = 8;
  for (int i = 0; i < kMost && extra[0] != CU_LAUNCH_PARAM_END; ++i, extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
      packed_ = *static_cast<std::size_t*>(extra[1]);
  }
  if (!buffer || packed_ == 0) return;
  bytes_.assign(static_cast<const char*>(buffer), static_cast<const char*>(buffer) + packed_);
  pointers_ = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_,
               CU_LAUNCH_PARAM_END};
  params_.extra = pointers_.data();
}

CUDA_KERNEL_NODE_PARAMS_v3 node_params(CUfunction function, const Launch& launch) {
  CUDA_KERNEL_NODE_PARAMS_v3 out{};
  out.func = function;
  out.gridDimX = launch.shape.grid[0];
  out.gridDimY = launch.shape.grid[1];
  out.gridDimZ = launch.shape.grid[2];
  out.blockDimX = launch.shape.block[0];
  out.blockDimY = launch.shape.block[1];
  out.blockDimZ = launch.shape.block[2];
  out.sharedMemBytes = launch.shape.dynamic_shared;
  out.kernelParams = launch.parameters;
  out.extra = launch.extra;
  return out;
}

}  // namespace cuvmm::emulator
