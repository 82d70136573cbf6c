// SPDX-License-Identifier: Apache-2.0
// Field bug 41: ROCm/hip-tests, the access tests' branch for NVIDIA (bug 42, vLLM and Open MPI, is
// its mirror image: host memory read by the CPU without access for the host).
// The program wants the CPU to read device memory through its mapping. Access for the host can be
// set only on memory that was created on the host.
//
// expects: cuMemSetAccess-host-location
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemMap(address, size, 0, handle, 0));
  MUST(cuMemRelease(handle));

  CUmemAccessDesc host = bug::access_from(0);
  host.location.type = CU_MEM_LOCATION_TYPE_HOST;
  SAW(CUDA_ERROR_NOT_SUPPORTED, cuMemSetAccess(address, size, &host, 1));

  MUST(cuMemUnmap(address, size));
  MUST(cuMemAddressFree(address, size));
  return bug::verdict();
}
