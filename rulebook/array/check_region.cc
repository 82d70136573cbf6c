// SPDX-License-Identifier: Apache-2.0
#include "rulebook/array/check_region.h"

#include <string>

namespace cuvmm::detail {

namespace {

using Level = decltype(CUarrayMapInfo::subresource.sparseLevel);
using Tail = decltype(CUarrayMapInfo::subresource.miptail);

bool is_tail(const CUarrayMapInfo& info) {
  return info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
}

std::string what_of(const char* name, std::uint64_t value) {
  return std::string(name) + " is " + std::to_string(value);
}

std::string wrong_layer(const ArrayObject& array, unsigned layer, bool per_layer) {
  if (!per_layer && layer != 0) return what_of("layer", layer) + ", and can only be 0";
  if (!per_layer || layer < array.shape.Depth) return {};
  return what_of("layer", layer) + ", of " + std::to_string(array.shape.Depth) + " layers";
}

/// One dimension of a region. A region that ends at the edge of its level may end within a tile;
/// any other region may not. No region goes over the edge: a H200 refuses to map the whole of a
/// tile that the edge cuts.
std::string wrong_dimension(char axis, std::uint64_t offset, std::uint64_t extent,
                            std::uint64_t tile, std::uint64_t size) {
  const auto along = [&] { return std::string(" along ") + axis; };
  if (offset % tile != 0) {
    return what_of("the offset", offset) + along() + ", and a tile has " + std::to_string(tile);
  }
  if (offset >= size || extent > size - offset) {
    return "the region is [" + std::to_string(offset) + ", " + std::to_string(offset) + " + " +
           std::to_string(extent) + ")" + along() + ", in a level of " + std::to_string(size);
  }
  if (extent % tile != 0 && extent != size - offset) {
    return what_of("the extent", extent) + along() + ", and a tile has " + std::to_string(tile);
  }
  return {};
}

std::string wrong_level(const ArrayObject& array, const Level& region) {
  if (array.mipmapped && region.level >= array.levels) {
    return what_of("level", region.level) + ", of " + std::to_string(array.levels) + " levels";
  }
  if (!array.three_dimensional() && (region.offsetZ != 0 || region.extentDepth > 1)) {
    return what_of("offsetZ", region.offsetZ) + " and " +
           what_of("extentDepth", region.extentDepth) + ", in two dimensions";
  }
  std::string wrong = wrong_layer(array, region.layer, array.layered());
  const auto& sparse = array.sparse;
  // Levels of the tail have no tiles of their own.
  const bool in_tail =
      sparse.miptailSize != 0 && array.mipmapped && region.level >= sparse.miptailFirstLevel;
  if (!wrong.empty() || !array.tiled()) return wrong;
  const auto level = [&](std::uint64_t base) { return level_extent(base, region.level); };
  const auto tile = [&](unsigned side) { return in_tail ? 1 : side; };
  const auto& tiles = sparse.tileExtent;
  wrong = wrong_dimension('x', region.offsetX, region.extentWidth, tile(tiles.width),
                          level(array.shape.Width));
  if (wrong.empty()) {
    wrong = wrong_dimension('y', region.offsetY, region.extentHeight, tile(tiles.height),
                            level(array.shape.Height));
  }
  if (wrong.empty() && array.three_dimensional()) {
    wrong = wrong_dimension('z', region.offsetZ, region.extentDepth, tile(tiles.depth),
                            level(array.shape.Depth));
  }
  return wrong;
}

std::string wrong_tail(const ArrayObject& array, const Tail& tail) {
  if (!array.tiled()) return {};
  const bool single = (array.sparse.flags & CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL) != 0;
  std::string wrong = wrong_layer(array, tail.layer, array.layered() && !single);
  const std::uint64_t tile = tile_size(array);
  if (!wrong.empty() || tile == 0) return wrong;
  const std::uint64_t size = array.sparse.miptailSize;
  if (tail.offset % tile != 0 || tail.size % tile != 0) {
    return what_of("the mip tail's offset", tail.offset) + " and " +
           what_of("its size", tail.size) + ", and a tile has " + size_text(tile);
  }
  if (tail.offset >= size || tail.size > size - tail.offset) {
    return "the region is " + range(tail.offset, tail.size) + ", of a mip tail of " +
           size_text(size);
  }
  return {};
}

}  // namespace

const ArrayObject* check_resource(Collector& out, const Model& model, const CUarrayMapInfo& info) {
  const auto handle = reinterpret_cast<std::uintptr_t>(info.resource.array);
  const ArrayObject* const array = model.arrays().find(handle);
  if (!array) {
    if (handle != 0) check_ended(out, model, info.resource.array, Rule::kArrayResourceAlive);
    return nullptr;
  }
  if (array->mipmapped != (info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)) return nullptr;
  if (array->parent != 0) {
    out.add(Rule::kArrayNotLevel,
            "array " + hex_text(handle) + " is a level of " + hex_text(array->parent))
        .objects.push_back(ref(*array));
    return nullptr;
  }
  const unsigned flags = array->shape.Flags;
  const bool sparse = (flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0;
  if (!sparse || array->shape.Height == 0) {
    out.add(Rule::kArraySparse, "array " + hex_text(handle) + " was made with flags " +
                                    hex_text(flags) + " and height " +
                                    std::to_string(array->shape.Height))
        .objects.push_back(ref(*array));
    return nullptr;
  }
  return array;
}

void check_region(Collector& out, const ArrayObject& array, const CUarrayMapInfo& info) {
  // The documentation does not say how a cubemap is mapped.
  if (array.shape.Flags & CUDA_ARRAY3D_CUBEMAP) return;
  const std::string wrong = is_tail(info) ? wrong_tail(array, info.subresource.miptail)
                                          : wrong_level(array, info.subresource.sparseLevel);
  if (!wrong.empty()) out.add(Rule::kArrayTiles, wrong).objects.push_back(ref(array));
}

std::uint64_t region_size(const ArrayObject& array, const CUarrayMapInfo& info) {
  if (array.deferred() || !array.tiled()) return 0;
  if (is_tail(info)) return info.subresource.miptail.size;
  const Level& region = info.subresource.sparseLevel;
  std::uint64_t size = tile_size(array);
  const auto& tile = array.sparse.tileExtent;
  const auto tiles = [](std::uint64_t extent, unsigned of) { return (extent + of - 1) / of; };
  for (const std::uint64_t count :
       {tiles(region.extentWidth, tile.width), tiles(region.extentHeight, tile.height),
        tiles(region.extentDepth, tile.depth)}) {
    if (__builtin_mul_overflow(size, count, &size)) return 0;
  }
  return size;
}

}  // namespace cuvmm::detail
