// Findings of legacy IPC that no single process can make: memory freed while another had it open.
#pragma once

#include <vector>

#include "tools/process_report.h"

namespace cuvmm {

/// Findings of rule cuIpcGetMemHandle-freed-after-close, each for the process that freed, from the
/// "ipc" lists of the reports. Lists that are not as docs/report.md says are passed over.
std::vector<Json> ipc_order_findings(const std::vector<ProcessReport>& reports);

}  // namespace cuvmm
