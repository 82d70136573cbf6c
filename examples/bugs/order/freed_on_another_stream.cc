// SPDX-License-Identifier: Apache-2.0
// Field bug: rapidsai/rmm issue 2156.
// The program uses memory of a pool on one stream and frees it on another, without an event between
// them. The pool may give the memory out again while the first stream still writes to it.
//
// expects: cuMemFreeAsync-ordered
// needs: late streams
#include "examples/bugs/order/blocked.h"

int main() {
  const std::size_t size = bug::start();
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  CUstream other = nullptr;
  CUdeviceptr buffer = 0;
  MUST(cuMemPoolCreate(&pool, &props));
  MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cuMemAllocFromPoolAsync(&buffer, size, pool, other));
  MUST(cuStreamSynchronize(other));
  bug::BlockedStream busy;
  MUST(cuMemsetD8Async(buffer, 1, size, busy.get()));

  SAW(CUDA_SUCCESS, cuMemFreeAsync(buffer, other));
  busy.let_go();
  SAW(CUDA_SUCCESS, cuStreamSynchronize(busy.get()));
  SAW(CUDA_SUCCESS, cuStreamSynchronize(other));
  MUST(cuMemPoolDestroy(pool));
  return bug::verdict();
}
