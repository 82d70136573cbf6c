// SPDX-License-Identifier: Apache-2.0
// The facts of a process for `cuvmm fail`: a JSON file (CUVMM_FAIL_LOG). The file is internal to
// cuvmm and no contract: tools/fail/outcome.h reads it.
#pragma once

#include <string>

#include "shim/fail/injector.h"
#include "shim/objects/in_use.h"

namespace cuvmm::shim {

/// The file of this process in a folder; "" for no folder.
std::string fail_log_name(const std::string& folder, int pid);

/// Writes the file anew. `ended` is "exit", "signal" or "running"; `returned`: main_returned();
/// `left`: the objects that the process still has, null if they were not collected.
void write_fail_log(Injector& injector, const char* ended, bool returned,
                    const AllInUse* left) noexcept;

}  // namespace cuvmm::shim
