// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: a shape, and memory whose rows lie one behind the other. A GPU's order of the bytes
// is its own; copies do not show it. A sparse array has memory of its own, too: the emulator does
// not follow the tiles of a pool into it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <optional>

#include "emulator/machine/physical.h"
#include "emulator/objects/context.h"

namespace cuvmm::emulator {

struct Array {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  unsigned levels = 0;  ///< of a mipmapped array; 0: the array is not mipmapped
  const Context* context = nullptr;
  std::optional<Physical> memory{};  ///< not of a mipmapped array, whose levels have their own
  std::optional<Physical> charge{};  ///< the device memory that a mipmapped array takes
  CUarray whole = nullptr;           ///< the mipmapped array that it is a level of
  std::map<unsigned, CUarray> level_arrays{};  ///< the levels that a program asked for

  bool sparse() const { return (shape.Flags & CUDA_ARRAY3D_SPARSE) != 0; }
};

/// The bytes of a shape in rows without gaps, and as a GPU lays it out; the second counts whole
/// groups of 64 bytes by 8 rows (recorded: the sizes of mip tails follow from it).
std::uint64_t packed_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape);
std::uint64_t laid_out_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape);
/// The bytes of a row.
std::uint64_t row_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape);
/// The shape of a mip level.
CUDA_ARRAY3D_DESCRIPTOR level_shape(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned level);

/// The properties of a sparse array: tiles of 64 KiB, as an H100 has them, in the shapes that
/// graphics APIs call the standard ones.
CUDA_ARRAY_SPARSE_PROPERTIES sparse_properties(const Array& array);
/// The memory that an array for deferred mapping needs.
CUDA_ARRAY_MEMORY_REQUIREMENTS memory_requirements(const Array& array);

/// Arrays holds a mipmapped array as it holds the others; these casts change the type of its
/// handle.
inline CUarray as_array(CUmipmappedArray array) { return reinterpret_cast<CUarray>(array); }
inline CUmipmappedArray as_mipmap(CUarray array) {
  return reinterpret_cast<CUmipmappedArray>(array);
}

/// All arrays of the process; the caller holds the emulator's lock.
class Arrays {
 public:
  CUarray add(Array&& array);
  const Array* find(CUarray handle) const;
  Array* find(CUarray handle);
  /// Erases an array with its levels. False: no such array exists.
  bool erase(CUarray handle);
  void end_those_of(const Context& context);

 private:
  std::map<CUarray, Array> arrays_;
  std::uintptr_t last_ = 0xe600000000;
};

}  // namespace cuvmm::emulator
