// SPDX-License-Identifier: Apache-2.0
// The program frees memory of a pool with cuMemFree while a kernel uses it. For memory of
// cuMemAlloc that is right, because cuMemFree waits for the device. For a pool's memory cuMemFree
// waits for nothing (cuda.h), so the program has to wait.
//
// expects: cuMemFree-idle
// needs: late streams
#include "examples/bugs/order/blocked.h"
#include "examples/bugs/order/fill_kernel.h"

int main() {
  const std::size_t size = bug::start();
  const bug::FillKernel fill;
  CUdeviceptr buffer = 0;
  bug::BlockedStream busy;
  CUstream other = nullptr;
  MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cuMemAllocAsync(&buffer, size, other));
  MUST(cuStreamSynchronize(other));
  SAW(CUDA_SUCCESS, fill(buffer, busy.get()));

  SAW(CUDA_SUCCESS, cuMemFree(buffer));
  // The driver decides whether the kernel works: the pool may have kept the memory.
  busy.let_go();
  cuStreamSynchronize(busy.get());
  return bug::verdict();
}
