// SPDX-License-Identifier: Apache-2.0
// cuMemMapArrayAsync. Only the model records the memory that is mapped into arrays. An H100 with
// driver 580.159.04 gave the answers that no rule has, 2026-11-26.
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

void add_facts(const Emulator& e, const calls::MemMapArrayAsync& call, Facts& facts) {
  if (Streams::is_default(call.hStream)) return;
  const Stream* stream = e.streams.find(call.hStream);
  facts.place.device = stream && stream->context ? stream->context->device : Facts::kUnknownDevice;
}

namespace {

// Whether a region names the tiles of a level that has none, because it lies in the mip tail.
bool in_tail(const Array& array, const CUarrayMapInfo& info) {
  if (info.subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL) return false;
  const CUDA_ARRAY_SPARSE_PROPERTIES tiles = sparse_properties(array);
  return tiles.miptailSize != 0 && info.subresource.sparseLevel.level >= tiles.miptailFirstLevel;
}

CUresult check(const Array& array, const CUarrayMapInfo& info) {
  constexpr Size kTile = 64 << 10;
  if ((array.shape.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0) return CUDA_SUCCESS;
  const bool maps = info.memOperationType == CU_MEM_OPERATION_TYPE_MAP;
  const bool mipmapped = info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  const bool legal = array.sparse() && mipmapped == (array.levels != 0) && !in_tail(array, info) &&
                     !(maps && info.offset % kTile != 0);
  return legal ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemMapArrayAsync& call, const Facts&, const Retired&) {
  if (call.count == 0 || !call.mapInfoList) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < call.count; ++i) {
    const CUarrayMapInfo& info = call.mapInfoList[i];
    const Array* const array = e.arrays.find(info.resource.array);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult wrong = check(*array, info);
    if (wrong != CUDA_SUCCESS) return wrong;
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
