// SPDX-License-Identifier: Apache-2.0
// The gaps of a run: the parts of it that cuvmm did not check. A run without findings says nothing
// about these parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/report_merge.h"

namespace cuvmm::tools {

/// The work that the emulator did not do for the program.
struct NotEmulated {
  std::uint64_t skipped_launches = 0;
  std::vector<std::string> need_driver = {};  ///< files that contain a CUDA runtime of NVIDIA's
  std::vector<std::string> functions = {};    ///< that programs called and the emulator lacks
  bool checks_kernels = false;                ///< the run was asked to check what kernels do
  std::vector<std::string> checked_kernels = {};
};

/// Whether the run was to check kernels, and none ran.
inline bool no_kernel_checked(const NotEmulated& run) {
  return run.checks_kernels && run.checked_kernels.empty();
}
/// The sentence about kernels that were checked; "" if the run was not asked to.
std::string kernels_sentence(const NotEmulated& run);

/// The number of calls of all processes that cuvmm checked.
std::uint64_t checked_calls(const MergedReport& report);

/// Whether no call was checked. False if a process was killed or its report is lost, because then
/// nobody knows its calls.
bool nothing_checked(const MergedReport& report);

/// One sentence for each gap except skipped launches. If nothing was checked, the last sentence
/// says so.
std::vector<std::string> gap_sentences(const MergedReport& report, const NotEmulated& missing);

/// Whether the program called a function about memory that nobody checked, apart from questions:
/// one that no rule is about, or one that the emulator lacks.
bool calls_unchecked(const MergedReport& report, const NotEmulated& missing);

/// The sentence about launches that the emulator skipped; "" if it skipped none.
std::string skipped_sentence(const NotEmulated& missing);

/// The sentence about functions that the emulator lacks; "" if no program called one.
std::string not_emulated_sentence(const NotEmulated& missing);

}  // namespace cuvmm::tools
