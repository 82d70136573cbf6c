// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncode* and cuTensorMapReplaceAddress. The map's bytes have a layout of the emulator's
// own, which contains all arguments; kernels read it.
#include <cstring>

#include "emulator/core/base_entry.h"
#include "emulator/core/locked.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

namespace {

constexpr std::uintptr_t kMapAlignment = 64;
using Map = kernels::TensorMap;
static_assert(sizeof(Map) <= sizeof(CUtensorMap));

template <class Call>
bool fill_in(const Call& call, Map& map) {
  const bool wide = call.interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
  const auto address = reinterpret_cast<std::uintptr_t>(call.globalAddress);
  const cuuint64_t unit = wide ? 32 : 16;
  if (address % unit != 0 || call.tensorRank == 0 || call.tensorRank > Map::kMostDimensions ||
      !call.globalDim || !call.elementStrides || (call.tensorRank > 1 && !call.globalStrides)) {
    return false;
  }
  map.address = address;
  map.type = static_cast<unsigned char>(call.tensorDataType);
  map.rank = static_cast<unsigned char>(call.tensorRank);
  map.interleave = static_cast<unsigned char>(call.interleave);
  map.swizzle = static_cast<unsigned char>(call.swizzle);
  map.promotion = static_cast<unsigned char>(call.l2Promotion);
  map.fill = static_cast<unsigned char>(call.oobFill);
  for (unsigned i = 0; i < call.tensorRank; ++i) {
    constexpr cuuint64_t kMostElements = cuuint64_t{1} << 32;
    constexpr cuuint32_t kMostElementStride = 8;
    if (call.globalDim[i] == 0 || call.globalDim[i] > kMostElements) return false;
    if (call.elementStrides[i] == 0 || call.elementStrides[i] > kMostElementStride) return false;
    map.less_dims[i] = static_cast<cuuint32_t>(call.globalDim[i] - 1);
    map.element_strides[i] = call.elementStrides[i];
  }
  for (unsigned i = 0; i + 1 < call.tensorRank; ++i) {
    constexpr cuuint64_t kMostStride = cuuint64_t{1} << 40;
    const cuuint64_t stride = call.globalStrides[i];
    if (stride % unit != 0 || stride >= kMostStride) return false;
    map.strides[i] = static_cast<cuuint32_t>(stride / Map::kStrideUnit);
  }
  return true;
}

bool usable(const CUtensorMap* map) {
  return map && reinterpret_cast<std::uintptr_t>(map) % kMapAlignment == 0;
}

void put(CUtensorMap* to, const Map& map) {
  std::memset(to, 0, sizeof *to);
  std::memcpy(to, &map, sizeof map);
}

// `box(map)` writes the fields whose parameters differ between the calls.
template <class Call, class Box>
CUresult encode(const Call& call, Box&& box) noexcept {
  return locked([&](Emulator&) -> CUresult {
    Map map{};
    if (!usable(call.tensorMap) || !fill_in(call, map) || !box(map)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    put(call.tensorMap, map);
    return CUDA_SUCCESS;
  });
}

constexpr unsigned kLeastOfIm2col = 3;

// Each offset of a corner is a signed number of at most 16 bits.
cuuint32_t corner(int lower, int upper) {
  constexpr unsigned kHalf = 16, kLow = 0xffff;
  return (static_cast<unsigned>(lower) & kLow) | static_cast<unsigned>(upper) << kHalf;
}

}  // namespace

CUresult run_base(const calls::TensorMapEncodeTiled& call) noexcept {
  return encode(call, [&](Map& map) {
    constexpr cuuint32_t kMostOfABox = 256;
    map.kind = Map::kTiled;
    for (unsigned i = 0; call.boxDim && i < call.tensorRank; ++i) {
      if (call.boxDim[i] == 0 || call.boxDim[i] > kMostOfABox) return false;
      map.box[i / Map::kBoxesOfAWord] |= call.boxDim[i] << Map::kBoxBits * (i % Map::kBoxesOfAWord);
    }
    return call.boxDim != nullptr;
  });
}

CUresult run_base(const calls::TensorMapEncodeIm2col& call) noexcept {
  return encode(call, [&](Map& map) {
    map.kind = Map::kIm2col;
    if (call.tensorRank < kLeastOfIm2col || !call.pixelBoxLowerCorner ||
        !call.pixelBoxUpperCorner) {
      return false;
    }
    for (unsigned i = 0; i + 2 < call.tensorRank; ++i) {
      map.box[i] = corner(call.pixelBoxLowerCorner[i], call.pixelBoxUpperCorner[i]);
    }
    map.box[3] =
        corner(static_cast<int>(call.channelsPerPixel), static_cast<int>(call.pixelsPerColumn));
    return true;
  });
}

CUresult run_base(const calls::TensorMapEncodeIm2colWide& call) noexcept {
  return encode(call, [&](Map& map) {
    map.kind = Map::kIm2colWide;
    map.mode = static_cast<unsigned char>(call.mode);
    if (call.tensorRank < kLeastOfIm2col) return false;
    map.box[0] = corner(call.pixelBoxLowerCornerWidth, call.pixelBoxUpperCornerWidth);
    map.box[3] =
        corner(static_cast<int>(call.channelsPerPixel), static_cast<int>(call.pixelsPerColumn));
    return true;
  });
}

CUresult run_base(const calls::TensorMapReplaceAddress& call) noexcept {
  return locked([&](Emulator&) -> CUresult {
    constexpr std::uintptr_t kAlignment = 16;
    const auto address = reinterpret_cast<std::uintptr_t>(call.globalAddress);
    if (!usable(call.tensorMap) || address % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
    Map map{};
    std::memcpy(&map, call.tensorMap, sizeof map);
    map.address = address;
    put(call.tensorMap, map);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
