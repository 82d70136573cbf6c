// SPDX-License-Identifier: Apache-2.0
// The work of `cuvmm run`, after its command line is parsed.
#pragma once

#include "tools/run/run_settings.h"

namespace cuvmm::tools {

/// Runs the program under the shim, merges its processes' reports, writes them and the summary.
/// Returns the exit code of the command. If SIGINT, SIGTERM or SIGHUP ended the program, `ended_by`
/// gets that signal, and the command should end itself by the same signal instead of by the exit
/// code, because a shell looks at how its child ended. Otherwise `ended_by` is left as it is.
int run(RunSettings options, int* ended_by = nullptr);

}  // namespace cuvmm::tools
