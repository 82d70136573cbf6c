// SPDX-License-Identifier: Apache-2.0
// Field bug 43: ROCm/hip-tests, hipMemSetGetAccess ChangeAccessProp.
// The program makes weights read-only after loading, and a later update still writes to them.
//
// expects: data-writable
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  const CUmemAccessDesc writable = bug::access_from(0);
  const CUmemAccessDesc readable = bug::access_from(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
  const char weights[] = "weights";
  char loaded[sizeof(weights)] = {};
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemMap(address, size, 0, handle, 0));
  MUST(cuMemRelease(handle));
  MUST(cuMemSetAccess(address, size, &writable, 1));
  MUST(cuMemcpyHtoD(address, weights, sizeof(weights)));

  MUST(cuMemSetAccess(address, size, &readable, 1));
  SAW(CUDA_SUCCESS, cuMemcpyDtoH(loaded, address, sizeof(loaded)));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(address, weights, sizeof(weights)));

  MUST(cuMemUnmap(address, size));
  MUST(cuMemAddressFree(address, size));
  return bug::verdict();
}
