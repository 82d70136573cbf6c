// SPDX-License-Identifier: Apache-2.0
// Finds out how a program ends: main() returns, or a function inside of main() calls exit().
#pragma once

#include "shim/base/caller.h"

namespace cuvmm::shim {

/// Called at the end of the process, by code that exit() runs: true if main() has returned, or if
/// Python has ended its script. False if the way is not known.
bool main_returned(const Caller& caller) noexcept;

}  // namespace cuvmm::shim
