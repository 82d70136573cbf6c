// SPDX-License-Identifier: Apache-2.0
// A library (or, with a main, a program) that is linked against libcuda.so.1.
#include "shim/testing/misuse.h"

#ifdef LINKED_MAIN
int main() {
  require(cuInit(0) == CUDA_SUCCESS, "cuInit");
  misuse(&cuMemMap);
}
#else
extern "C" __attribute__((visibility("default"))) CUresult map_through_link(
    CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
    unsigned long long flags) {
  return cuMemMap(ptr, size, offset, handle, flags);
}
#endif
