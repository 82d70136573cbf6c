// SPDX-License-Identifier: Apache-2.0
// What the answers of a driver mean.
#pragma once

#include <span>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/driver/driver_answers.h"

namespace cuvmm::doctor {

/// driver, devices, compute-mode, granularity, reserve, vmm, peer, multicast, fd, fabric and
/// dma-buf. `seen` are the checks of the machine, its limits and NVML, where causes are looked for;
/// `nvml_devices` is how many GPUs NVML sees, -1 where it cannot say.
std::vector<Check> judge_driver(const DriverAnswers& answers, std::span<const Check> seen,
                                int nvml_devices, bool in_container);

}  // namespace cuvmm::doctor
