// SPDX-License-Identifier: Apache-2.0
// Field bug 58: NVIDIA/cuda-python issue 2694.
// The program asks for host memory with node -1, meant as "any", or on "the current node". A NUMA
// location needs the number of a real node, and the current node is no location for an allocation.
//
// expects: cuMemCreate-numa-node
// expects: cuMemCreate-location-type
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  CUmemAllocationProp prop = bug::memory_on(0);
  CUmemGenericAllocationHandle handle = 0;

  prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  prop.location.id = -1;
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &prop, 0));

  prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  prop.location.id = 0;
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &prop, 0));
  return bug::verdict();
}
