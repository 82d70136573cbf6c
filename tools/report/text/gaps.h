// SPDX-License-Identifier: Apache-2.0
// What of a run was not checked. A run without findings is a success only of what was checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/report_merge.h"

namespace cuvmm::tools {

/// What the emulator did not do for the program.
struct NotEmulated {
  std::uint64_t skipped_launches = 0;
  std::vector<std::string> need_driver = {};  ///< files: a CUDA runtime of NVIDIA's is in them
};

/// The calls of all processes that cuvmm checked.
std::uint64_t checked_calls(const MergedReport& report);

/// Whether no call was checked. Of a process that was killed, or whose report is lost, nobody
/// knows.
bool nothing_checked(const MergedReport& report);

/// One sentence for each gap but skipped launches; that nothing was checked is the last.
std::vector<std::string> gap_sentences(const MergedReport& report, const NotEmulated& missing);

/// The sentence about launches that the emulator skipped; "" where there were none.
std::string skipped_sentence(const NotEmulated& missing);

}  // namespace cuvmm::tools
