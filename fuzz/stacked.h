// The shim between a program and a driver, judged by the reference: no false finding, none missing,
// and no answer changed.
#pragma once

#include "fuzz/differential.h"

namespace cuvmm::fuzz {

/// Runs the program bare, then through a shim session of its own; disagrees where either differs
/// from the reference, or where the two runs differ.
Result run_stacked(Differential& machine, const Ops& ops);

}  // namespace cuvmm::fuzz
