// SPDX-License-Identifier: Apache-2.0
// The size of the part of a sparse array that a cuMemMapArrayAsync maps.
#include <optional>

#include "api/posix/cancel_off.h"
#include "shim/facts/facts.h"

namespace cuvmm::shim {

namespace {

using Properties = CUDA_ARRAY_SPARSE_PROPERTIES;
using Region = decltype(CUarrayMapInfo::subresource.sparseLevel);

// The size of a tile: an H100 answered it for 18 formats. The driver only tells the number of a
// tile's elements.
constexpr std::uint64_t kTileBytes = 65536;

bool shows_region(const CUarrayMapInfo& info) {
  return info.memOperationType == CU_MEM_OPERATION_TYPE_MAP &&
         info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
}

std::optional<Properties> properties_of(const Driver& driver, const CUarrayMapInfo& info) {
  Properties tiles{};
  const CUresult result =
      info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
          ? driver(calls::MipmappedArrayGetSparseProperties{&tiles, info.resource.mipmap})
          : driver(calls::ArrayGetSparseProperties{&tiles, info.resource.array});
  if (result != CUDA_SUCCESS) return std::nullopt;
  const auto& tile = tiles.tileExtent;
  const bool usual = tile.width != 0 && tile.height != 0 && tile.depth != 0 &&
                     tiles.miptailSize % kTileBytes == 0;  // for tiles of another kind the size is
                                                           // not known
  return usual ? std::optional(tiles) : std::nullopt;
}

std::uint64_t bytes_of(const Region& region, const Properties& array) {
  const auto tiles = [](std::uint64_t extent, unsigned tile) { return (extent + tile - 1) / tile; };
  std::uint64_t bytes = kTileBytes;
  for (const std::uint64_t factor : {tiles(region.extentWidth, array.tileExtent.width),
                                     tiles(region.extentHeight, array.tileExtent.height),
                                     tiles(region.extentDepth, array.tileExtent.depth)}) {
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return 0;
  }
  return bytes;
}

}  // namespace

bool FactFinder::find_tiles(const calls::Array3DCreate& call, Properties& tiles) const {
  if (!(call.pAllocateArray->Flags & CUDA_ARRAY3D_SPARSE)) return false;
  const CancelOff no_cancel;
  return driver_(calls::ArrayGetSparseProperties{&tiles, *call.pHandle}) == CUDA_SUCCESS;
}

bool FactFinder::find_tiles(const calls::MipmappedArrayCreate& call, Properties& tiles) const {
  if (!(call.pMipmappedArrayDesc->Flags & CUDA_ARRAY3D_SPARSE)) return false;
  const CancelOff no_cancel;
  return driver_(calls::MipmappedArrayGetSparseProperties{&tiles, *call.pHandle}) == CUDA_SUCCESS;
}

std::vector<std::uint64_t> FactFinder::tile_sizes(const calls::MemMapArrayAsync& call) const {
  if (!tiles_wanted_.load(std::memory_order_relaxed)) return {};
  const CancelOff no_cancel;
  std::vector<std::uint64_t> sizes(call.count);
  std::optional<Properties> known;
  const CUarrayMapInfo* asked = nullptr;
  for (unsigned i = 0; i < call.count; ++i) {
    const CUarrayMapInfo& info = call.mapInfoList[i];
    if (!shows_region(info)) continue;
    if (!asked || asked->resource.array != info.resource.array ||
        asked->resourceType != info.resourceType) {
      asked = &info;
      known = properties_of(driver_, info);
    }
    if (known) sizes[i] = bytes_of(info.subresource.sparseLevel, *known);
  }
  return sizes;
}

}  // namespace cuvmm::shim
