// SPDX-License-Identifier: Apache-2.0
// Findings of legacy IPC that no single process can make: memory freed while another had it open.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/report/process_report.h"

namespace cuvmm::tools {

struct IpcFindings {
  std::vector<Json> findings;  ///< kMostIpcFindings at most
  std::size_t left_out = 0;    ///< how many more there would be, as far as they were counted
};

inline constexpr std::size_t kMostIpcFindings = 1000;

/// Findings of the rules cuIpcGetMemHandle-freed-after-close and
/// cuMemPoolExportPointer-freed-after-import, each for the process that freed, from the
/// "ipc" lists of the reports: one for each process that had the memory open. Lists that are not as
/// docs/report.md says are passed over. O(n log n) in the length of the lists.
IpcFindings ipc_order_findings(const std::vector<ProcessReport>& reports);

}  // namespace cuvmm::tools
