// SPDX-License-Identifier: Apache-2.0
// Sentences about queued work that are no findings.
#pragma once

#include <string>
#include <vector>

#include "tools/report/report_merge.h"

namespace cuvmm::tools {

/// The notes about uses of memory that went well only because the emulator does work at once
/// (`eager`), and about words that may be addresses.
std::vector<std::string> work_notes(const std::vector<ProcessReport>& reports, bool eager);

}  // namespace cuvmm::tools
