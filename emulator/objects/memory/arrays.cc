// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/arrays.h"

#include <algorithm>
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

namespace {

using Shape = CUDA_ARRAY3D_DESCRIPTOR;

constexpr std::uint64_t kTileBytes = 64 << 10;

std::uint64_t rounded(std::uint64_t size, std::uint64_t unit) {
  return (size + unit - 1) / unit * unit;
}

bool layered(const Shape& shape) { return (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0; }

// Whether a level has no whole tile along one of its axes.
bool in_tail(const Shape& level, const CUDA_ARRAY_SPARSE_PROPERTIES& answer) {
  const auto& tile = answer.tileExtent;
  const bool deep = level.Depth > 0 && !layered(level);
  return level.Width < tile.width || level.Height < tile.height ||
         (deep && level.Depth < tile.depth);
}

std::uint64_t bytes(const Shape& shape, std::uint64_t row, std::uint64_t rows) {
  const ChannelFormat block = block_format(shape.Format);
  const std::uint64_t height = std::max<std::uint64_t>(shape.Height, 1);
  return rounded(row_bytes(shape), row) *
         rounded(block.bytes ? (height + 3) / 4 : height, height > 1 ? rows : 1) *
         std::max<std::uint64_t>(shape.Depth, 1);
}

}  // namespace

std::uint64_t row_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const ChannelFormat block = block_format(shape.Format);
  return block.bytes ? (shape.Width + 3) / 4 * block.bytes : shape.Width * element_size(shape);
}

std::uint64_t packed_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape) { return bytes(shape, 1, 1); }

std::uint64_t laid_out_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape) { return bytes(shape, 64, 8); }

CUDA_ARRAY3D_DESCRIPTOR level_shape(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned level) {
  Shape out = shape;
  out.Width = level_extent(shape.Width, level);
  if (shape.Height > 0) out.Height = level_extent(shape.Height, level);
  const bool flat = layered(shape) || (shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  if (shape.Depth > 0 && !flat) out.Depth = level_extent(shape.Depth, level);
  return out;
}

CUDA_ARRAY_SPARSE_PROPERTIES sparse_properties(const Array& array) {
  struct Tile {
    unsigned width, height, depth;
  };
  // For elements of 1, 2, 4, 8 and 16 bytes.
  constexpr Tile kFlat[] = {{256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
  constexpr Tile kDeep[] = {{64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
  const Shape& shape = array.shape;
  const bool deep = shape.Depth > 0 && !layered(shape);
  const unsigned block = block_format(shape.Format).bytes;
  const auto place = std::countr_zero(block ? block : element_size(shape));
  const Tile& tile = deep ? kDeep[place] : kFlat[place];
  const unsigned texels = block ? 4 : 1;
  CUDA_ARRAY_SPARSE_PROPERTIES answer{};
  answer.tileExtent = {tile.width * texels, tile.height * texels, tile.depth};
  // The levels from the first that is smaller than a tile form the tail, and lie together. If that
  // is the base level, all layers lie in the one tail; else each layer has a tail of this size.
  const unsigned levels = std::max(array.levels, 1u);
  unsigned first = 0;
  while (first < levels && !in_tail(level_shape(shape, first), answer)) ++first;
  answer.miptailFirstLevel = array.levels != 0 ? first : 0;
  std::uint64_t size = 0;
  for (unsigned level = first; level < levels; ++level) {
    Shape one = level_shape(shape, level);
    if (layered(shape)) one.Depth = 1;
    size += laid_out_bytes(one);
  }
  if (first == 0) {
    answer.flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
    if (layered(shape)) size *= shape.Depth;
  }
  answer.miptailSize = rounded(size, kTileBytes);
  return answer;
}

CUDA_ARRAY_MEMORY_REQUIREMENTS memory_requirements(const Array& array) {
  std::uint64_t size = 0;
  for (unsigned level = 0; level < std::max(array.levels, 1u); ++level) {
    size += laid_out_bytes(level_shape(array.shape, level));
  }
  CUDA_ARRAY_MEMORY_REQUIREMENTS answer{};
  answer.size = rounded(size, kTileBytes);
  answer.alignment = kTileBytes;
  return answer;
}

void Arrays::end_those_of(const Context& context) {
  std::erase_if(arrays_, [&](const auto& entry) { return entry.second.context == &context; });
}

}  // namespace cuvmm::emulator
