// SPDX-License-Identifier: Apache-2.0
// The end of a context, and of all that belongs to it.
#pragma once

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// Ends a context, once its work is done: its plain memory, arrays, modules, captures, streams and
/// events.
void end_context(Emulator& e, Context& context);

}  // namespace cuvmm::emulator
