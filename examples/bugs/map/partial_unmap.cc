// SPDX-License-Identifier: Apache-2.0
// Field bug 23: ROCm/hip-tests, hipMemUnmap.cc.
// A cache wants to free half of a mapping. A mapping ends only as a whole, so that half should have
// been an allocation and a mapping of its own.
//
// expects: cuMemUnmap-whole-mappings
#include "examples/bugs/bug.h"

int main() {
  const std::size_t half = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&address, 2 * half, 0, 0, 0));
  MUST(cuMemCreate(&handle, 2 * half, &prop, 0));
  MUST(cuMemMap(address, 2 * half, 0, handle, 0));
  MUST(cuMemRelease(handle));

  SAW(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address + half, half));

  MUST(cuMemUnmap(address, 2 * half));
  MUST(cuMemAddressFree(address, 2 * half));
  return bug::verdict();
}
