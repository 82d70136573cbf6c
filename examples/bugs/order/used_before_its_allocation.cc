// SPDX-License-Identifier: Apache-2.0
// The other end of rapidsai/rmm issue 2156: a program allocates memory of a pool in the order of
// one stream and uses it on another, without an event between them. cuMemAllocAsync returns the
// address at once, so the mistake does not show. But until the allocation's stream has reached the
// allocation, other work may still use the memory.
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
