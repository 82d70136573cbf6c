// SPDX-License-Identifier: Apache-2.0
// The shim between a program and a driver, judged by the reference: no false finding, none missing,
// and no answer changed.
#pragma once

#include "fuzz/search/differential.h"

namespace cuvmm::fuzz {

/// In how many ways a program is run: which of its driver calls is made to fail, once each.
enum class Failures { kNone, kOne, kEach };

/// Runs the program bare, then through a shim session of its own; disagrees where either differs
/// from the reference, or where the two runs differ. Then once more for each of `failures`: the
/// driver refuses one call with OUT_OF_MEMORY, and all that follows has to be as if it had not been
/// made. kOne takes a call that follows from the program; kEach takes all of them.
Result run_stacked(Differential& machine, const Ops& ops, Failures failures = Failures::kOne);

}  // namespace cuvmm::fuzz
