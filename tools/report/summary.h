// SPDX-License-Identifier: Apache-2.0
// The summary of `cuvmm run`: its last lines on stderr.
#pragma once

#include <string>
#include <vector>

#include "tools/report/report_merge.h"
#include "tools/report/text/gaps.h"

namespace cuvmm::tools {

/// The summary: counts of the findings, possible gaps, and the next command to type. The last lines
/// name the parts that were not checked; if `unchecked_exitcode` is not 0, they say that the exit
/// code comes from that. Every line starts with "cuvmm: ". `blame`: the line behind the counts; "":
/// none.
std::string summary_text(const MergedReport& report, const std::vector<std::string>& files,
                         const NotEmulated& missing = {}, int unchecked_exitcode = 0,
                         const std::string& blame = {});

}  // namespace cuvmm::tools
