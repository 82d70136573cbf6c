// SPDX-License-Identifier: Apache-2.0
// Memory of a pool is freed with cuMemFree while a kernel uses it. For memory of cuMemAlloc that
// goes well, because cuMemFree waits for the device. Of a pool's memory it waits for nothing
// (cuda.h): the program has to.
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
  // What becomes of the kernel is the driver's matter: the pool may have kept the memory.
  busy.let_go();
  cuStreamSynchronize(busy.get());
  return bug::verdict();
}
