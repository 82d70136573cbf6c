// SPDX-License-Identifier: Apache-2.0
// chelsea0x3b/cudarc issue 521: memory of a stream-ordered pool (cuMemAllocFromPoolAsync, and what
// a runtime allocates asynchronously by default) goes to legacy IPC, which can share only memory of
// cuMemAlloc. A pool has an export of its own. VMM memory fails in the same way.
//
// expects: cuIpcGetMemHandle-not-pool
// expects: cuIpcGetMemHandle-not-vmm
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  CUipcMemHandle handle;
  MUST(cuMemPoolCreate(&pool, &props));
  MUST(cuMemAllocFromPoolAsync(&memory, size, pool, nullptr));
  SAW(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, memory));
  MUST(cuMemFreeAsync(memory, nullptr));
  MUST(cuMemPoolDestroy(pool));

  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle physical = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  MUST(cuMemCreate(&physical, size, &prop, 0));
  MUST(cuMemMap(address, size, 0, physical, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, address));
  MUST(cuMemUnmap(address, size));
  MUST(cuMemRelease(physical));
  MUST(cuMemAddressFree(address, size));
  return bug::verdict();
}
