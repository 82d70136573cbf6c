// SPDX-License-Identifier: Apache-2.0
// Field bugs 2 and 3: vllm-project/vllm issue 36651 (cumem sleep and wake), and
// fzyzcjy/torch_memory_saver issue 92 (free of a paused allocation).
// A second sleep() unmaps and releases the memory of the first one again, because no allocation
// remembers whether it is asleep. The driver accepts the unmap without a mapping, and happens to
// recognise the released handle: the documentation leaves its release undefined.
//
// expects: cuMemUnmap-mapped
// expects: cuMemRelease-pairing
#include "examples/bugs/bug.h"

namespace {

struct Allocation {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;
};

void wake_up(Allocation& allocation) {
  const CUmemAllocationProp prop = bug::memory_on(0);
  const CUmemAccessDesc access = bug::access_from(0);
  MUST(cuMemCreate(&allocation.handle, allocation.size, &prop, 0));
  MUST(cuMemMap(allocation.address, allocation.size, 0, allocation.handle, 0));
  MUST(cuMemSetAccess(allocation.address, allocation.size, &access, 1));
}

void sleep(const Allocation& allocation, CUresult release) {
  SAW(CUDA_SUCCESS, cuMemUnmap(allocation.address, allocation.size));
  SAW(release, cuMemRelease(allocation.handle));
}

}  // namespace

int main() {
  Allocation allocation;
  allocation.size = 2 * bug::start();
  MUST(cuMemAddressReserve(&allocation.address, allocation.size, 0, 0, 0));
  wake_up(allocation);
  sleep(allocation, CUDA_SUCCESS);
  sleep(allocation, CUDA_ERROR_INVALID_VALUE);  // already asleep
  MUST(cuMemAddressFree(allocation.address, allocation.size));
  return bug::verdict();
}
