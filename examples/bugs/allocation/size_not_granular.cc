// SPDX-License-Identifier: Apache-2.0
// Field bug 46: fzyzcjy/torch_memory_saver pull request 82.
// A tensor of 6912 bytes is allocated with exactly that size. The size must be a multiple of the
// granularity that the driver gives for these very properties (here: memory for GPUDirect RDMA).
//
// expects: cuMemCreate-size-granularity
#include "examples/bugs/bug.h"

int main() {
  const std::size_t granularity = bug::start();
  CUmemAllocationProp prop = bug::memory_on(0);
  prop.allocFlags.gpuDirectRDMACapable = 1;
  CUmemGenericAllocationHandle handle = 0;
  const std::size_t tensor = 6912;

  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, tensor, &prop, 0));

  const std::size_t rounded = (tensor + granularity - 1) / granularity * granularity;
  SAW(CUDA_SUCCESS, cuMemCreate(&handle, rounded, &prop, 0));  // the repair
  MUST(cuMemRelease(handle));
  return bug::verdict();
}
