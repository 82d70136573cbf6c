// SPDX-License-Identifier: Apache-2.0
// Converts the runtime's structures to the driver's.
#pragma once

#include <cstddef>
#include <cstring>

#include "emulator/runtime/version.h"

namespace cuvmm::runtime {

/// The driver's structure for a structure of the runtime whose first fields are equal. CUDA 13's
/// structure has the reserved words too, in equal places, so that the driver may refuse them; CUDA
/// 12's ends before them.
template <class DriverStruct>
DriverStruct for_driver(const void* given) {
  DriverStruct result{};
  std::memcpy(&result, given, kMajor == 12 ? offsetof(DriverStruct, reserved) : sizeof result);
  return result;
}

}  // namespace cuvmm::runtime
