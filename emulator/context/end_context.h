// SPDX-License-Identifier: Apache-2.0
// How a context ends, together with all objects that belong to it.
#pragma once

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// Ends a context after its work is done, and ends its plain memory, arrays, modules, captures,
/// streams and events.
void end_context(Emulator& e, Context& context);

}  // namespace cuvmm::emulator
