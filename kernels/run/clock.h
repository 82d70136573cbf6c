// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kernels/run/code.h"

namespace cuvmm::kernels {

/// Reads the clock of a special register; null where the register is no clock.
Run clock_named(std::string_view name);

/// Whether a Run reads the clock that counts instructions.
bool reads_clock(Run run);

}  // namespace cuvmm::kernels
