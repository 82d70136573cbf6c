// SPDX-License-Identifier: Apache-2.0
// Findings of legacy IPC that need the reports of several processes: one process freed memory while
// another had it open.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/report/process_report.h"

namespace cuvmm::tools {

struct IpcFindings {
  std::vector<Json> findings;  ///< kMostIpcFindings at most
  std::size_t left_out = 0;    ///< number of further findings; a lower bound
};

inline constexpr std::size_t kMostIpcFindings = 1000;

/// Judges the "ipc" lists of the reports by the rules cuIpcGetMemHandle-freed-after-close and
/// cuMemPoolExportPointer-freed-after-import. Makes one finding for each process that had the
/// memory open; the finding belongs to the process that freed. Lists that are not as docs/report.md
/// says are ignored. O(n log n) in the length of the lists.
IpcFindings ipc_order_findings(const std::vector<ProcessReport>& reports);

}  // namespace cuvmm::tools
