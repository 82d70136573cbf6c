// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: a shape, and memory of the device that they take. Nothing reads or writes them:
// copies with arrays are refused as not supported, and so are sparse ones.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>

#include "emulator/context/context.h"
#include "emulator/machine/physical.h"

namespace cuvmm::emulator {

struct Array {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  const Context* context = nullptr;
  Physical memory;
};

/// All arrays of the process; the caller holds the emulator's lock.
class Arrays {
 public:
  CUarray add(Array&& array);
  const Array* find(CUarray handle) const;
  bool erase(CUarray handle) { return arrays_.erase(handle) != 0; }
  void end_those_of(const Context& context);

 private:
  std::map<CUarray, Array> arrays_;
  std::uintptr_t last_ = 0xe600000000;
};

}  // namespace cuvmm::emulator
