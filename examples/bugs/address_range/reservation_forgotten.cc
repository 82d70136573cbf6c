// SPDX-License-Identifier: Apache-2.0
// Field bug: PyTorch, torch/csrc/distributed/c10d/symm_mem, ~AllocationRef (seen in 2.11).
// Each buffer has an address range of its own. Its destructor unmaps and releases the memory, but
// never calls cuMemAddressFree, so each further buffer takes new addresses.
//
// expects: cuMemAddressReserve-freed
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  for (int buffer = 0; buffer < 20; ++buffer) {
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    MUST(cuMemCreate(&handle, size, &prop, 0));
    MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
    MUST(cuMemMap(address, size, 0, handle, 0));
    SAW(CUDA_SUCCESS, cuMemUnmap(address, size));
    SAW(CUDA_SUCCESS, cuMemRelease(handle));
  }
  return bug::verdict();
}
