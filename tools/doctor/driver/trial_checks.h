// SPDX-License-Identifier: Apache-2.0
// What the trials of mapping and sharing mean.
#pragma once

#include <span>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/driver/driver_answers.h"

namespace cuvmm::doctor {

/// vmm, peer, fd, fabric and dma-buf, of `count` devices, at least one.
std::vector<Check> judge_trials(const DriverAnswers& answers, std::span<const Check> seen,
                                int count);

}  // namespace cuvmm::doctor
