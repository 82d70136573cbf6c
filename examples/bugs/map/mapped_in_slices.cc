// SPDX-License-Identifier: Apache-2.0
// Field bug 26: openxla/xla pull request 38779 (the first restriction of its new allocator).
// The program wants to map slices of one large allocation at two separate addresses. The parameter
// for it exists, but the offset must be 0 and the size must be the allocation's.
//
// expects: cuMemMap-whole-allocation
// expects: cuMemMap-offset-zero
#include "examples/bugs/bug.h"

int main() {
  const std::size_t slice = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr first = 0, second = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&first, slice, 0, 0, 0));
  MUST(cuMemAddressReserve(&second, slice, 0, 0, 0));
  MUST(cuMemCreate(&handle, 2 * slice, &prop, 0));

  SAW(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(first, slice, 0, handle, 0));
  SAW(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(second, slice, slice, handle, 0));

  MUST(cuMemRelease(handle));
  MUST(cuMemAddressFree(second, slice));
  MUST(cuMemAddressFree(first, slice));
  return bug::verdict();
}
