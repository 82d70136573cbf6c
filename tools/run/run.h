// SPDX-License-Identifier: Apache-2.0
// What `cuvmm run` does, after its command line is understood.
#pragma once

#include "tools/run/run_settings.h"

namespace cuvmm::tools {

/// Runs the program under the shim, merges its processes' reports, writes them and the summary.
/// Returns the exit code of the command.
int run(RunSettings options);

}  // namespace cuvmm::tools
