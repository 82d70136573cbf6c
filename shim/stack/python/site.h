// SPDX-License-Identifier: Apache-2.0
// Where the program made a call, for folding what comes from one place.
#pragma once

#include <cstdint>

#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// A number for the place that made the call of this stack: its call site, as call_site() has it.
/// All of a Python program's calls may come from one site, in a library that only hands them on
/// (ctypes, cffi, an extension module): then the innermost line of Python is part of the number.
/// Reads /proc/self/maps at the first stack of a site. 0 where there is no stack.
std::uintptr_t folding_site(StackId id);

}  // namespace cuvmm::shim
