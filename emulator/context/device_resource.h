// SPDX-License-Identifier: Apache-2.0
// Parts of a device's multiprocessors, in the form that programs see.
#pragma once

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

DevicePart whole_device(const Emulator& e, int device);
/// Answers a query for the resources of a type. `whole`: the part may be split.
CUresult write_resource(const DevicePart& part, bool whole, CUdevResource* out,
                        CUdevResourceType type);

}  // namespace cuvmm::emulator
