// SPDX-License-Identifier: Apache-2.0
// Sparse arrays for tests: 512 x 512 elements of 4 bytes, with the tiles of an H100.
#pragma once

#include "rulebook/testing/world.h"

namespace cuvmm::testing {

inline constexpr std::uintptr_t kArrayContext = 7;

inline CUarray array_at(std::uintptr_t handle) { return reinterpret_cast<CUarray>(handle); }
inline CUmipmappedArray mipmap_at(std::uintptr_t handle) {
  return reinterpret_cast<CUmipmappedArray>(handle);
}

inline CUDA_ARRAY3D_DESCRIPTOR flat_shape(unsigned flags = CUDA_ARRAY3D_SPARSE,
                                          std::size_t depth = 0) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Width = shape.Height = 512;
  shape.Depth = depth;
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 1;
  shape.Flags = flags;
  return shape;
}

inline CUDA_ARRAY_SPARSE_PROPERTIES flat_tiles(unsigned depth = 1) {
  CUDA_ARRAY_SPARSE_PROPERTIES properties{};
  properties.tileExtent = {128, 128, depth};
  return properties;
}

inline Facts array_facts(const CUDA_ARRAY_SPARSE_PROPERTIES* tiles) {
  Facts facts;
  facts.place.context = Facts::Answer::kYes;
  facts.place.context_id = kArrayContext;
  facts.place.device = 0;
  facts.array.sparse = tiles;
  return facts;
}

inline CUarray make_array(World& w, std::uintptr_t handle,
                          const CUDA_ARRAY3D_DESCRIPTOR& shape = flat_shape()) {
  CUarray array = array_at(handle);
  const bool sparse = (shape.Flags & CUDA_ARRAY3D_SPARSE) != 0;
  const CUDA_ARRAY_SPARSE_PROPERTIES tiles = flat_tiles();
  w.accept(calls::Array3DCreate{&array, &shape}, array_facts(sparse ? &tiles : nullptr));
  return array;
}

/// The levels of 512, 256 and 128 have tiles; any further levels form a tail of one tile.
inline CUmipmappedArray make_mipmap(World& w, std::uintptr_t handle, unsigned levels = 3,
                                    const CUDA_ARRAY3D_DESCRIPTOR& shape = flat_shape(),
                                    unsigned flags = 0) {
  CUmipmappedArray array = mipmap_at(handle);
  CUDA_ARRAY_SPARSE_PROPERTIES tiles = flat_tiles();
  tiles.flags = flags;
  if (levels > 3) {
    tiles.miptailFirstLevel = 3;
    tiles.miptailSize = 65536;
  }
  w.accept(calls::MipmappedArrayCreate{&array, &shape, levels}, array_facts(&tiles));
  return array;
}

/// Maps the first tile of an array to the start of `memory`.
inline CUarrayMapInfo mapping(CUarray array, Handle memory) {
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.subresource.sparseLevel = {0, 0, 0, 0, 0, 128, 128, 1};
  info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  info.memHandle.memHandle = memory;
  info.deviceBitMask = 1;
  return info;
}

}  // namespace cuvmm::testing
