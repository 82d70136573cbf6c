// SPDX-License-Identifier: Apache-2.0
// Judges the answers of a driver.
#pragma once

#include <span>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/driver/driver_answers.h"

namespace cuvmm::doctor {

/// Returns the checks driver, devices, compute-mode, granularity, reserve, vmm, peer, multicast,
/// fd, fabric and dma-buf. `seen`: the checks of the machine, its limits and NVML; the function
/// looks for causes among them. `nvml_devices`: the number of GPUs that NVML sees; -1: unknown.
std::vector<Check> judge_driver(const DriverAnswers& answers, std::span<const Check> seen,
                                int nvml_devices, bool in_container);

}  // namespace cuvmm::doctor
