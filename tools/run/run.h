// SPDX-License-Identifier: Apache-2.0
// What `cuvmm run` does, after its command line is understood.
#pragma once

#include "tools/run/run_settings.h"

namespace cuvmm::tools {

/// Runs the program under the shim, merges its processes' reports, writes them and the summary.
/// Returns the exit code of the command. `ended_by` gets the signal that the command should die of
/// in its place, because a shell asks how its child ended: the one that somebody ended the program
/// by; 0: none.
int run(RunSettings options, int* ended_by = nullptr);

}  // namespace cuvmm::tools
