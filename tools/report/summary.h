// SPDX-License-Identifier: Apache-2.0
// The last lines of `cuvmm run` on stderr.
#pragma once

#include <string>
#include <vector>

#include "tools/report/report_merge.h"

namespace cuvmm::tools {

/// What was found, what may be missing, and the next command to type. Every line starts with
/// "cuvmm: ". `reachable` is false when the program itself could not be checked (that was said
/// before).
/// `skipped_launches` is how many kernels the emulator did not run. `blame`: the line that follows
/// the counts, "" none.
std::string summary_text(const MergedReport& report, const std::vector<std::string>& files,
                         std::uint64_t skipped_launches = 0, const std::string& blame = {});

}  // namespace cuvmm::tools
