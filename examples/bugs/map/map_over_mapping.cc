// SPDX-License-Identifier: Apache-2.0
// Field bug 20: vllm-project/vllm pull request 45565.
// An earlier unmap failed without notice, so waking up maps onto an address that is still mapped.
// The driver answers CUDA_ERROR_INVALID_VALUE, as for ten other mistakes; the user needs to know
// which mapping is in the way, and which call made it.
//
// expects: cuMemMap-vacant
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle before = 0, after = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  MUST(cuMemCreate(&before, size, &prop, 0));
  MUST(cuMemMap(address, size, 0, before, 0));

  // sleep(): the unmap that should be here did not happen.
  MUST(cuMemRelease(before));
  // wake_up():
  MUST(cuMemCreate(&after, size, &prop, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, size, 0, after, 0));

  MUST(cuMemRelease(after));
  MUST(cuMemUnmap(address, size));
  MUST(cuMemAddressFree(address, size));
  return bug::verdict();
}
