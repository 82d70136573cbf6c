// SPDX-License-Identifier: Apache-2.0
#include "rulebook/model/tile_state.h"

namespace cuvmm {

TileState::Key TileState::key(const CUarrayMapInfo& info) {
  const auto array = reinterpret_cast<std::uintptr_t>(info.resource.array);
  const auto kind = static_cast<std::uint64_t>(info.subresourceType);
  if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
    const auto& tail = info.subresource.miptail;
    return {array, kind, tail.layer, tail.offset, tail.size};
  }
  const auto& level = info.subresource.sparseLevel;
  return {array,         kind,          level.level,       level.layer,        level.offsetX,
          level.offsetY, level.offsetZ, level.extentWidth, level.extentHeight, level.extentDepth};
}

void TileState::confirm(const calls::MemMapArrayAsync& call, const Facts&, Origin at,
                        const Surroundings&) {
  for (unsigned i = 0; i < call.count; ++i) {
    const CUarrayMapInfo& info = call.mapInfoList[i];
    if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
      tiles_[key(info)] = {info.memHandle.memHandle, at};
    } else {
      tiles_.erase(key(info));
    }
  }
}

bool TileState::shows(CUmemGenericAllocationHandle memory) const {
  return std::any_of(tiles_.begin(), tiles_.end(),
                     [&](const auto& entry) { return entry.second.memory == memory; });
}

}  // namespace cuvmm
