// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "emulator/ptx/run/code.h"

namespace cuvmm::emulator::ptx {

/// Reads the clock that a special register has; null for what is none.
Run clock_named(std::string_view name);

}  // namespace cuvmm::emulator::ptx
