// SPDX-License-Identifier: Apache-2.0
// Field bug 17: pytorch/pytorch issue 188008, an expandable segment's destructor (bug 16, NVIDIA's
// vectorAddMMAP sample, cleans up the same way).
// Growing failed after `mapped` of the slots; the destructor unmaps the whole segment in one call.
// The documentation demands exactly the mapped ranges. This driver accepts the slots without a
// mapping.
//
// expects: cuMemUnmap-mapped
#include "examples/bugs/bug.h"

int main() {
  constexpr std::size_t kSlots = 4, kMapped = 2;
  const std::size_t slot = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUmemGenericAllocationHandle handles[kSlots] = {};
  CUdeviceptr segment = 0;
  MUST(cuMemAddressReserve(&segment, kSlots * slot, 0, 0, 0));
  for (auto& handle : handles) MUST(cuMemCreate(&handle, slot, &prop, 0));
  for (std::size_t i = 0; i < kMapped; ++i) {
    MUST(cuMemMap(segment + i * slot, slot, 0, handles[i], 0));
  }

  SAW(CUDA_SUCCESS, cuMemUnmap(segment, kSlots * slot));  // the last two slots have no mapping

  for (auto handle : handles) MUST(cuMemRelease(handle));
  MUST(cuMemAddressFree(segment, kSlots * slot));
  return bug::verdict();
}
