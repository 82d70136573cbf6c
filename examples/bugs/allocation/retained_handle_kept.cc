// SPDX-License-Identifier: Apache-2.0
// Field bugs 7 and 8: rocm-systems pull request 10613 (a query that retains inside itself and never
// releases) and ROCm/hip-tests, hipMemRetainAllocationHandle.cc.
// The handle that cuMemRetainAllocationHandle returns equals the created handle, so the program
// takes both for one reference. Each call adds one more reference, and the program never releases
// these.
//
// expects: cuMemRetainAllocationHandle-released
#include "examples/bugs/bug.h"

namespace {

/// The location of the memory behind an address; each call keeps a reference to the memory.
CUmemLocation location_of(CUdeviceptr address) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = {};
  SAW(CUDA_SUCCESS, cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address)));
  SAW(CUDA_SUCCESS, cuMemGetAllocationPropertiesFromHandle(&prop, handle));
  return prop.location;
}

}  // namespace

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  MUST(cuMemMap(address, size, 0, handle, 0));
  std::printf("the memory lies on device %d\n", location_of(address).id);
  std::printf("and still on device %d\n", location_of(address).id);
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  SAW(CUDA_SUCCESS, cuMemUnmap(address, size));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, size));
  return bug::verdict();
}
