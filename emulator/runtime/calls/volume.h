// SPDX-License-Identifier: Apache-2.0
// The runtime's structures for memory of three dimensions. CUDA 12 and 13 have the same.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace cuvmm::runtime {

/// cudaPitchedPtr; pitch and width in bytes.
struct PitchedMemory {
  void* pointer;
  std::size_t pitch, width, height;
};
/// cudaExtent, and cudaPos. The width counts the elements of an array, else bytes.
struct Volume {
  std::size_t width, height, depth;
};
struct Position {
  std::size_t x, y, z;
};
/// cudaMemcpy3DParms.
struct VolumeCopy {
  CUarray from_array;
  Position from_position;
  PitchedMemory from;
  CUarray to_array;
  Position to_position;
  PitchedMemory to;
  Volume extent;
  int kind;
};
static_assert(sizeof(VolumeCopy) == 160);

}  // namespace cuvmm::runtime
