// SPDX-License-Identifier: Apache-2.0
// The last lines of `cuvmm run` on stderr.
#pragma once

#include <string>
#include <vector>

#include "tools/report/report_merge.h"
#include "tools/report/text/gaps.h"

namespace cuvmm::tools {

/// What was found, what may be missing, and the next command to type; then, as the last lines, what
/// was not checked, and that the exit code of the command, if not 0, comes from that. Every line
/// starts with "cuvmm: ". `blame`: the line that follows the counts, "" none.
std::string summary_text(const MergedReport& report, const std::vector<std::string>& files,
                         const NotEmulated& missing = {}, int unchecked_exitcode = 0,
                         const std::string& blame = {});

}  // namespace cuvmm::tools
