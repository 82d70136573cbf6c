// SPDX-License-Identifier: Apache-2.0
// The common part of all targets with programs: a driver that is opened once, the structure-aware
// mutator, and the output when a program disagrees. Works with any engine that calls
// LLVMFuzzerTestOneInput.
#pragma once

#include "fuzz/search/differential.h"

namespace cuvmm::fuzz {

/// The emulator in this process, opened at the first call; ends the process when it cannot be used.
Differential& engine();

/// Ends the process when the program disagreed, and prints how to replay it. Prints the figures
/// once a second, and at exit.
void conclude(const Ops& ops, const Result& result, const char* target);

}  // namespace cuvmm::fuzz
