// SPDX-License-Identifier: Apache-2.0
// cuMemcpyAtoA: a row of one array to another, whatever their elements.
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/transfer/transfer_entry.h"

namespace cuvmm::emulator {

CUVMM_DRIVER_FUNCTION(cuMemcpyAtoA_v2, CUarray to, size_t to_offset, CUarray from,
                      size_t from_offset, size_t size) {
  return locked([&](Emulator& e) -> CUresult {
    const CUresult refused = Captures::any() ? e.captures.refuse_legacy() : CUDA_SUCCESS;
    if (refused != CUDA_SUCCESS) return refused;
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = to;
    copy.dstXInBytes = to_offset;
    copy.srcArray = from;
    copy.srcXInBytes = from_offset;
    copy.WidthInBytes = size;
    copy.Height = copy.Depth = 1;
    return run_transfer(e, calls::Memcpy3D{&copy});
  });
}
CUVMM_DRIVER_ALIAS(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA_v2);

}  // namespace cuvmm::emulator
