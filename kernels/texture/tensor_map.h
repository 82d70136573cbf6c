// SPDX-License-Identifier: Apache-2.0
// A tensor map, as the emulator writes it: programs take it for opaque bytes.
#pragma once

#include <cstdint>

namespace cuvmm::kernels {

struct TensorMap {
  static constexpr unsigned kMostDimensions = 5;
  static constexpr unsigned char kTiled = 1, kIm2col = 2, kIm2colWide = 3;

  std::uint64_t address;
  unsigned char kind, type, rank, interleave, swizzle, promotion, fill, mode;
  std::uint32_t less_dims[kMostDimensions];    ///< numbers of elements, less one
  std::uint32_t strides[kMostDimensions - 1];  ///< in units of kStrideUnit bytes
  std::uint32_t element_strides[kMostDimensions];
  std::uint32_t box[4];  ///< of a tiled map: three sizes a word

  static constexpr std::uint64_t kStrideUnit = 16;
  static constexpr unsigned kBoxBits = 9, kBoxesOfAWord = 3;
  std::uint32_t box_size(unsigned dimension) const {
    const unsigned shift = kBoxBits * (dimension % kBoxesOfAWord);
    return box[dimension / kBoxesOfAWord] >> shift & ((1U << kBoxBits) - 1);
  }
};

}  // namespace cuvmm::kernels
