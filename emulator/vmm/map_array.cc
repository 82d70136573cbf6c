// SPDX-License-Identifier: Apache-2.0
// cuMemMapArrayAsync. Nothing reads arrays here: only the model records the memory that is mapped
// into them.
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

void add_facts(const Emulator& e, const calls::MemMapArrayAsync& call, Facts& facts) {
  if (Streams::is_default(call.hStream)) return;
  const Stream* stream = e.streams.find(call.hStream);
  facts.place.device = stream && stream->context ? stream->context->device : Facts::kUnknownDevice;
}

CUresult perform(Emulator& e, const calls::MemMapArrayAsync& call, const Facts&, const Retired&) {
  if (call.count != 0 && !call.mapInfoList) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < call.count; ++i) {
    const CUarrayMapInfo& info = call.mapInfoList[i];
    const Array* const array = e.arrays.find(info.resource.array);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    const bool mipmapped = info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (!array->sparse() || mipmapped != (array->levels != 0)) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
