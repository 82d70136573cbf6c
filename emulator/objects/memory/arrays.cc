// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/arrays.h"

#include <bit>
#include <utility>

#include "rulebook/objects/array_objects.h"

namespace cuvmm::emulator {

CUarray Arrays::add(Array&& array) {
  constexpr std::uintptr_t kStep = 0x100;
  const auto handle = reinterpret_cast<CUarray>(last_ += kStep);
  arrays_.emplace(handle, std::move(array));
  return handle;
}

const Array* Arrays::find(CUarray handle) const {
  const auto found = arrays_.find(handle);
  return found == arrays_.end() ? nullptr : &found->second;
}

Array* Arrays::find(CUarray handle) {
  const auto found = arrays_.find(handle);
  return found == arrays_.end() ? nullptr : &found->second;
}

bool Arrays::erase(CUarray handle) {
  const auto found = arrays_.find(handle);
  if (found == arrays_.end()) return false;
  const auto levels = std::move(found->second.level_arrays);
  arrays_.erase(found);
  for (const auto& [level, array] : levels) arrays_.erase(array);
  return true;
}

CUDA_ARRAY_SPARSE_PROPERTIES sparse_properties(const Array& array) {
  struct Tile {
    unsigned width, height, depth;
  };
  // For elements of 1, 2, 4, 8 and 16 bytes.
  constexpr Tile kFlat[] = {{256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
  constexpr Tile kDeep[] = {{64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
  const CUDA_ARRAY3D_DESCRIPTOR& shape = array.shape;
  const bool layered = (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  const bool deep = shape.Depth > 0 && !layered;
  const auto place = std::countr_zero(element_size(shape));
  const Tile& tile = deep ? kDeep[place] : kFlat[place];
  CUDA_ARRAY_SPARSE_PROPERTIES told{};
  told.tileExtent = {tile.width, tile.height, tile.depth};
  // The levels that are smaller than a tile form the tail, for which each layer takes a tile.
  while (told.miptailFirstLevel < array.levels) {
    const unsigned level = told.miptailFirstLevel;
    if (level_extent(shape.Width, level) < tile.width ||
        level_extent(shape.Height, level) < tile.height ||
        (deep && level_extent(shape.Depth, level) < tile.depth)) {
      told.miptailSize = 64 << 10;
      break;
    }
    ++told.miptailFirstLevel;
  }
  if (told.miptailSize == 0) told.miptailFirstLevel = 0;
  return told;
}

void Arrays::end_those_of(const Context& context) {
  std::erase_if(arrays_, [&](const auto& entry) { return entry.second.context == &context; });
}

}  // namespace cuvmm::emulator
