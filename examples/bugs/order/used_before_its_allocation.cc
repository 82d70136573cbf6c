// SPDX-License-Identifier: Apache-2.0
// The other end of rapidsai/rmm issue 2156: memory of a pool is allocated in the order of one
// stream and used on another, and no event lets the second wait for the first.
// The address is there when cuMemAllocAsync returns, so that nothing looks wrong. But until the
// stream of the allocation gets there, the memory may still be somebody else's.
//
// expects: data-pool-ordered
// needs: late streams
#include "examples/bugs/order/blocked.h"
#include "examples/bugs/order/fill_kernel.h"

int main() {
  const std::size_t size = bug::start();
  const bug::FillKernel fill;
  bug::BlockedStream busy;
  CUstream other = nullptr;
  CUdeviceptr buffer = 0;
  MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cuMemAllocAsync(&buffer, size, busy.get()));
  SAW(CUDA_SUCCESS, fill(buffer, other));

  busy.let_go();
  SAW(CUDA_SUCCESS, cuStreamSynchronize(busy.get()));
  SAW(CUDA_SUCCESS, cuStreamSynchronize(other));
  MUST(cuMemFreeAsync(buffer, busy.get()));
  SAW(CUDA_SUCCESS, cuStreamSynchronize(busy.get()));
  return bug::verdict();
}
