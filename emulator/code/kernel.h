// SPDX-License-Identifier: Apache-2.0
// Launches of kernels whose PTX is known.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/core/emulator.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

/// The work of a stream or a graph, run in its turn, under the lock.
using Work = std::function<CUresult(Emulator&)>;

/// The parameters of a launch, except its stream.
struct Launch {
  const char* entry = "";  ///< the driver's function; outlives the process
  kernels::Shape shape;
  void** parameters = nullptr;
  void** extra = nullptr;
  /// The blocks of a cluster on each axis, where the launch gives them.
  std::optional<std::array<unsigned, 3>> cluster{};
};

/// Whether a GPU of the emulated kind can run such a grid.
bool possible(const kernels::Shape& shape);

/// Makes the work of a launch, with its parameters as they are now. A function without PTX is
/// skipped (skip_launch). INVALID_VALUE for a shape or parameters that the kernel cannot be
/// launched with; INVALID_CLUSTER_SIZE; NOT_SUPPORTED, reported once per kernel on stderr, where
/// the emulator lacks an instruction of it.
CUresult prepare(Emulator& e, Context& context, Function& function, const Launch& launch,
                 Work& work);

}  // namespace cuvmm::emulator
