// SPDX-License-Identifier: Apache-2.0
// The driver's description of a copy of three dimensions.
#pragma once

#include "emulator/runtime/calls/volume.h"
#include "emulator/runtime/driver.h"

namespace cuvmm::runtime {

/// Bytes of an element of an array; 0 for a handle of no array.
std::size_t element_bytes(const Driver& driver, CUarray array);

/// cudaErrorInvalidValue where the copy has no memory, or an array and memory, on a side.
Error describe(const Driver& driver, const VolumeCopy* copy, CUDA_MEMCPY3D& out);

}  // namespace cuvmm::runtime
