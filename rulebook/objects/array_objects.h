// SPDX-License-Identifier: Apache-2.0
// CUDA arrays, as one process knows them.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "rulebook/base/violation.h"

namespace cuvmm {

/// An array, a mipmapped array, or a level of one.
struct ArrayObject {
  std::uint64_t handle = 0;
  bool mipmapped = false;
  CUDA_ARRAY3D_DESCRIPTOR shape{};          ///< of the base level
  unsigned levels = 1;                      ///< of a mipmapped array
  std::uint64_t parent = 0;                 ///< the mipmapped array that it is a level of; 0: none
  std::vector<std::uint64_t> level_arrays;  ///< handles that the driver gave out for its levels
  std::uint64_t external = 0;               ///< handle of the external memory behind it; 0: none
  /// As the driver describes it; a tile of width 0: unknown.
  CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
  int device = -1;            ///< of the context that made it; -1 unknown
  std::uint64_t context = 0;  ///< that context, 0 unknown
  Origin made;

  bool layered() const { return (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0; }
  bool cubemap() const { return (shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0; }
  bool three_dimensional() const { return shape.Depth > 0 && !layered() && !cubemap(); }
  bool deferred() const { return (shape.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0; }
  bool tiled() const { return sparse.tileExtent.width != 0; }
};

/// Channels and bytes of a format that has its channels in its name, as UNORM_INT8X4; 0: any other.
/// Older headers lack the names, so the formats are numbers: 0xc0 to 0xcb are (U|S)NORM_INT(8|16)
/// of one, two and four channels; 0x50 has four channels in 32 bits.
struct ChannelFormat {
  unsigned channels = 0, bytes = 0;
};
inline ChannelFormat channel_format(CUarray_format format) {
  const int number = static_cast<int>(format);
  if (number == 0x50) return {4, 4};
  if (number < 0xc0 || number > 0xcb) return {};
  const unsigned place = static_cast<unsigned>(number) - 0xc0;
  const unsigned channels = 1u << place % 3;
  return {channels, channels * (place / 3 % 2 + 1)};
}

/// Channels, and bytes of a block of 4 x 4 elements, of a block-compressed format (BC1 to BC7); 0:
/// any other.
inline ChannelFormat block_format(CUarray_format format) {
  const int number = static_cast<int>(format);
  if (number < 0x91 || number > 0x9e) return {};
  constexpr ChannelFormat kBlocks[] = {{4, 8}, {4, 16}, {4, 16}, {1, 8}, {2, 16}, {3, 16}, {4, 16}};
  return kBlocks[(number - 0x91) / 2];
}

/// Bytes of an element; 0 for a format that compresses several elements, or is not known.
inline std::uint64_t element_size(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  switch (shape.Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return shape.NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return std::uint64_t{2} * shape.NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return std::uint64_t{4} * shape.NumChannels;
    default:
      return channel_format(shape.Format).bytes;
  }
}

/// Bytes of one tile of the array; 0 unknown.
inline std::uint64_t tile_size(const ArrayObject& array) {
  const auto& tile = array.sparse.tileExtent;
  return std::uint64_t{tile.width} * tile.height * tile.depth * element_size(array.shape);
}

/// The extent of a mip level, from the extent of the base level.
inline std::uint64_t level_extent(std::uint64_t base, unsigned level) {
  return level < 64 ? std::max<std::uint64_t>(base >> level, 1) : 1;
}

/// The number of levels of a mipmapped array that was asked for with `asked` levels. The
/// documentation limits it to 1 up to the level in which the longest extent is 1.
inline unsigned level_count(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned asked) {
  const bool flat = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const std::uint64_t depth = flat ? 1 : shape.Depth;
  const auto longest = std::max<std::uint64_t>({shape.Width, shape.Height, depth, 1});
  return std::clamp(asked, 1u, static_cast<unsigned>(std::bit_width(longest)));
}

}  // namespace cuvmm
