// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: a shape, and memory of the device that they take. Nothing reads or writes them:
// copies with arrays are refused as not supported. So what is mapped into a sparse one shows to
// nobody.
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
  unsigned levels = 0;  ///< of a mipmapped array; 0: it is none
  const Context* context = nullptr;
  std::optional<Physical> memory{};            ///< not of a sparse array, nor of a level
  std::map<unsigned, CUarray> level_arrays{};  ///< those that were asked for

  bool sparse() const { return (shape.Flags & CUDA_ARRAY3D_SPARSE) != 0; }
};

/// What a driver tells of a sparse array: tiles of 64 KiB, as an H100 has them, in the shapes that
/// graphics APIs call the standard ones.
CUDA_ARRAY_SPARSE_PROPERTIES sparse_properties(const Array& array);

/// A mipmapped array is kept as the others are.
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
  /// With its levels. False: there is no such array.
  bool erase(CUarray handle);
  void end_those_of(const Context& context);

 private:
  std::map<CUarray, Array> arrays_;
  std::uintptr_t last_ = 0xe600000000;
};

}  // namespace cuvmm::emulator
