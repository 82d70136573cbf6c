// SPDX-License-Identifier: Apache-2.0
// What the answers of a driver mean.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/children.h"

namespace cuvmm::doctor {

/// What the children that asked the driver said; see driver_trials.h.
struct DriverAnswers {
  Ended facts, mapping, dma_buf, fd_export, fd_import, fabric_export, fabric_import;
  /// The limits that were raised for a second try, and whether the driver starts with them;
  /// "" where there was none.
  std::string raised;
  bool raised_works = false;
};

/// driver, devices, compute-mode, granularity, reserve, vmm, peer, multicast, fd, fabric and
/// dma-buf. `seen` are the checks of the machine, its limits and NVML, where causes are looked for;
/// `nvml_devices` is how many GPUs NVML sees, -1 where it cannot say.
std::vector<Check> judge_driver(const DriverAnswers& answers, std::span<const Check> seen,
                                int nvml_devices, bool in_container);

}  // namespace cuvmm::doctor
