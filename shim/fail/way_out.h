// SPDX-License-Identifier: Apache-2.0
// How a program ends: main() returns, or something inside of it calls exit().
#pragma once

#include "shim/base/caller.h"

namespace cuvmm::shim {

/// Asked at the end of the process, by what exit() runs: true where main() has returned, or where
/// Python has come to its own end. Unknown counts as false.
bool main_returned(const Caller& caller) noexcept;

}  // namespace cuvmm::shim
