// SPDX-License-Identifier: Apache-2.0
// Attributes of an emulated device that its profile does not name.
#pragma once

#include <optional>

namespace cuvmm::emulator {

/// Value of a CUdevice_attribute for a GPU of the Hopper generation, which clients read to size
/// their launches. 0 for known attributes of features that the emulator lacks, nothing for numbers
/// that no CUDA version up to 13.5 defines.
std::optional<int> default_attribute(int attribute);

}  // namespace cuvmm::emulator
