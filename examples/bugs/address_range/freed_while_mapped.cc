// SPDX-License-Identifier: Apache-2.0
// Field bug 11: invergent-ai/surogate issue 117 (bug 22, ROCR-Runtime issue 257, frees the same way
// in the belief that CUDA allows it).
// The second plane cannot be allocated. The error path frees the address range at once, but the
// first plane is still mapped there. The free fails, the program ignores its result, and both the
// range and the memory of the first plane are lost.
//
// expects: cuMemAddressFree-unmapped
// expects: cuMemMap-unmapped
#include "examples/bugs/bug.h"

int main() {
  const std::size_t plane = bug::start();
  const std::size_t too_much = std::size_t{1} << 40;  // no device has 1 TiB
  const CUmemAllocationProp prop = bug::memory_on(0);
  const CUmemAccessDesc access = bug::access_from(0);
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&address, plane + too_much, 0, 0, 0));

  MUST(cuMemCreate(&handle, plane, &prop, 0));
  MUST(cuMemMap(address, plane, 0, handle, 0));
  MUST(cuMemRelease(handle));
  MUST(cuMemSetAccess(address, plane, &access, 1));

  if (SAW(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, too_much, &prop, 0)) != CUDA_SUCCESS) {
    SAW(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, plane + too_much));  // unmap first
  }
  return bug::verdict();
}
