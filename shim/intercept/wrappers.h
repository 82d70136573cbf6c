// SPDX-License-Identifier: Apache-2.0
// The C functions that replace the intercepted symbols.
#pragma once

#include "api/symbols/symbols.h"

namespace cuvmm::shim {

/// The wrapper with exactly this symbol's ABI; null for symbols that are not intercepted.
void* wrapper_of(Symbol symbol);

}  // namespace cuvmm::shim
