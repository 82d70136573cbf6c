// SPDX-License-Identifier: Apache-2.0
// The runtime's structures for memory of three dimensions, equal in CUDA 12 and 13, and the
// driver's description of a copy.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "emulator/runtime/driver.h"

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

/// Bytes of an element of an array; 0 for a handle of no array.
std::size_t element_bytes(const Driver& driver, CUarray array);

/// cudaErrorInvalidValue where the copy has no memory, or an array and memory, on a side.
Error describe(const Driver& driver, const VolumeCopy* copy, CUDA_MEMCPY3D& out);

}  // namespace cuvmm::runtime
