// SPDX-License-Identifier: Apache-2.0
// Field bug: ai-dynamo/dynamo pull request 12906.
// A transfer takes two pieces of a pool. A copy fails, and the function returns at once, so the
// addresses of both are lost. The program later destroys the pool, and its memory lives on.
//
// expects: cuMemPoolDestroy-memory-freed
#include "examples/bugs/bug.h"

namespace {

constexpr std::size_t kSize = 4096;

CUresult transfer(CUmemoryPool pool, CUstream stream, CUdeviceptr from) {
  CUdeviceptr first = 0, second = 0;
  MUST(cuMemAllocFromPoolAsync(&first, kSize, pool, stream));
  MUST(cuMemAllocFromPoolAsync(&second, kSize, pool, stream));
  const CUresult copied =
      from ? cuMemcpyDtoDAsync(first, from, kSize, stream) : CUDA_ERROR_INVALID_VALUE;
  if (copied != CUDA_SUCCESS) return copied;
  MUST(cuMemFreeAsync(first, stream));
  MUST(cuMemFreeAsync(second, stream));
  return CUDA_SUCCESS;
}

}  // namespace

int main() {
  bug::start();
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr source = 0;
  MUST(cuMemPoolCreate(&pool, &props));
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuMemAlloc(&source, kSize));

  SAW(CUDA_SUCCESS, transfer(pool, stream, source));
  SAW(CUDA_ERROR_INVALID_VALUE, transfer(pool, stream, 0));

  MUST(cuStreamSynchronize(stream));
  MUST(cuMemFree(source));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamDestroy(stream));
  return bug::verdict();
}
