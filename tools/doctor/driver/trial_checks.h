// SPDX-License-Identifier: Apache-2.0
// Judges the trials of mapping and sharing.
#pragma once

#include <span>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/driver/driver_answers.h"

namespace cuvmm::doctor {

/// Returns the checks vmm, peer, fd, fabric and dma-buf. `count`: number of devices, at least 1.
std::vector<Check> judge_trials(const DriverAnswers& answers, std::span<const Check> seen,
                                int count);

}  // namespace cuvmm::doctor
