// SPDX-License-Identifier: Apache-2.0
// The place where the program made a call, by which repeats are folded.
#pragma once

#include <cstdint>

#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// A number for the place that made the call of this stack: its call site, as from call_site(). All
/// calls of a Python program may come from one site, in a library that only forwards them (ctypes,
/// cffi, an extension module): then the innermost line of Python is part of the number. Reads
/// /proc/self/maps at the first stack of a site. 0 if there is no stack.
std::uintptr_t folding_site(StackId id);

}  // namespace cuvmm::shim
