// SPDX-License-Identifier: Apache-2.0
// Launches of kernels whose PTX is known.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "emulator/core/emulator.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

/// What a stream or a graph does when it comes to it, under the lock.
using Work = std::function<CUresult(Emulator&)>;

/// What a launch says, but for its stream.
struct Launch {
  const char* entry = "";  ///< the driver's function; outlives the process
  kernels::Shape shape;
  void** parameters = nullptr;
  void** extra = nullptr;
};

/// Whether a GPU of the emulated kind can have such a grid.
bool possible(const kernels::Shape& shape);

/// Makes the work of a launch, with the parameters as they are now. A function that comes from no
/// PTX is skipped (skip_launch). INVALID_VALUE for what the kernel cannot be launched with,
/// NOT_SUPPORTED, said once on stderr for a kernel, where an instruction of it is not known.
CUresult prepare(Emulator& e, Context& context, Function& function, const Launch& launch,
                 Work& work);

}  // namespace cuvmm::emulator
