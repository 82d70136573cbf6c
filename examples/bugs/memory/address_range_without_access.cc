// SPDX-License-Identifier: Apache-2.0
// Field bug 112: NVIDIA/nccl issue 2332.
// A buffer of mapped memory goes to a library, which queries the range around it before it
// registers it. The driver reports no memory there, and the library seems to be at fault. But the
// program has not given the device access yet, and the query finds only memory with access.
//
// expects: cuMemGetAddressRange-access
#include "examples/bugs/bug.h"

namespace {

/// A library's view of a buffer that it did not allocate.
CUresult register_buffer(CUdeviceptr buffer) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  return cuMemGetAddressRange(&base, &size, buffer);
}

}  // namespace

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr buffer = 0;
  CUmemGenericAllocationHandle memory = 0;
  MUST(cuMemAddressReserve(&buffer, size, 0, 0, 0));
  MUST(cuMemCreate(&memory, size, &prop, 0));
  MUST(cuMemMap(buffer, size, 0, memory, 0));

  SAW(CUDA_ERROR_NOT_FOUND, register_buffer(buffer));

  MUST(cuMemUnmap(buffer, size));
  MUST(cuMemRelease(memory));
  MUST(cuMemAddressFree(buffer, size));
  return bug::verdict();
}
