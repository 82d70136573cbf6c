// SPDX-License-Identifier: Apache-2.0
// The common part of all targets with programs: a driver that is opened once, the structure-aware
// mutator, and the output when a program disagrees. Works with any engine that calls
// LLVMFuzzerTestOneInput.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "fuzz/search/differential.h"

namespace cuvmm::fuzz {

/// The emulator in this process, opened at the first call; ends the process when it cannot be used.
Differential& engine();

/// Runs an input by `run`, and ends the process when its program disagrees, with a text that says
/// how to replay it. Before the run, adds the input to the file PREFIXlast-programs, where PREFIX
/// is the engine's -artifact_prefix: so no way to die loses it, or the programs before it
/// (`cuvmm-fuzz --last`). Prints the figures once a second, and at exit.
void run_input(std::span<const std::uint8_t> input, const char* target,
               const std::function<Result(Differential&, const Ops&)>& run);

}  // namespace cuvmm::fuzz
