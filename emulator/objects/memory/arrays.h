// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: a shape, and the device memory that they take. Nothing reads or writes them, because
// copies with arrays are refused as not supported. So no call shows the memory that is mapped into
// a sparse array.
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
  std::optional<Physical> memory{};            ///< neither a sparse array nor a level has its own
  std::map<unsigned, CUarray> level_arrays{};  ///< the levels that a program asked for

  bool sparse() const { return (shape.Flags & CUDA_ARRAY3D_SPARSE) != 0; }
};

/// The properties of a sparse array: tiles of 64 KiB, as an H100 has them, in the shapes that
/// graphics APIs call the standard ones.
CUDA_ARRAY_SPARSE_PROPERTIES sparse_properties(const Array& array);

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
