// SPDX-License-Identifier: Apache-2.0
// Runs the shim between a program and a driver. The reference judges that no finding is false or
// missing, and no answer changes.
#pragma once

#include "fuzz/search/differential.h"

namespace cuvmm::fuzz {

/// The driver calls that fail, one per additional run.
enum class Failures { kNone, kOne, kEach };

/// Runs the program without the shim, then through a new shim session; disagrees where either run
/// differs from the reference, or from the other run. Then runs the program once more for each of
/// `failures`: the driver refuses one call with OUT_OF_MEMORY, and everything after it must be as
/// if the call had not been made. kOne takes a call that the program determines; kEach takes all
/// calls in turn.
Result run_stacked(Differential& machine, const Ops& ops, Failures failures = Failures::kOne);

}  // namespace cuvmm::fuzz
