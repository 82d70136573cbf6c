// SPDX-License-Identifier: Apache-2.0
// The driver's structures from the runtime's.
#pragma once

#include <cstddef>
#include <cstring>

#include "emulator/runtime/version.h"

namespace cuvmm::runtime {

/// The driver's structure for one of the runtime's that begins like it. CUDA 13's has the reserved
/// words too, in the same places, so that the driver may object to them; CUDA 12's ends before
/// them.
template <class DriverStruct>
DriverStruct for_driver(const void* given) {
  DriverStruct result{};
  std::memcpy(&result, given, kMajor == 12 ? offsetof(DriverStruct, reserved) : sizeof result);
  return result;
}

}  // namespace cuvmm::runtime
