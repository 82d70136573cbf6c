// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/tile_state.h"

#include <bit>

namespace cuvmm {

namespace {

Tiles tiles_of(const CUarrayMapInfo& info, unsigned number, const Facts& facts, Origin at) {
  Tiles tiles;
  tiles.memory = info.memHandle.memHandle;
  tiles.offset = info.offset;
  if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
    tiles.size = info.subresource.miptail.size;
  } else if (facts.array.sizes) {
    tiles.size = facts.array.sizes[number];
  }
  if (std::has_single_bit(info.deviceBitMask)) tiles.device = std::countr_zero(info.deviceBitMask);
  tiles.number = static_cast<std::uint16_t>(number);
  tiles.made = at;
  return tiles;
}

}  // namespace

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

void TileState::confirm(const calls::MemMapArrayAsync& call, const Facts& facts, Origin at,
                        const Surroundings&) {
  ended_.clear();
  for (unsigned i = 0; i < call.count; ++i) {
    const CUarrayMapInfo& info = call.mapInfoList[i];
    const Key region = key(info);
    if (const auto shown = tiles_.find(region); shown != tiles_.end()) {
      ended_.emplace_back(region[0], shown->second);
      tiles_.erase(shown);
    }
    if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
      tiles_.emplace(region, tiles_of(info, i, facts, at));
    }
  }
}

// The array is the first number of each key.
void TileState::take_out(std::uint64_t array, Retired& retired) {
  const auto first = tiles_.lower_bound(Key{array});
  auto last = first;
  for (; last != tiles_.end() && last->first[0] == array; ++last) {
    retired.more().tiles.push_back(*last);
  }
  tiles_.erase(first, last);
}

bool TileState::shows(CUmemGenericAllocationHandle memory) const {
  return std::any_of(tiles_.begin(), tiles_.end(),
                     [&](const auto& entry) { return entry.second.memory == memory; });
}

}  // namespace cuvmm
