// SPDX-License-Identifier: Apache-2.0
// What files of the machine say: modules, device nodes, IMEX channels, daemons.
#pragma once

#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

/// platform, kernel-module, device-nodes, imex-channels, imex-daemon and mps. Opens /dev/nvidiactl,
/// /dev/nvidia-uvm and the IMEX channels, and asks nothing of them.
std::vector<Check> check_machine(const Host& host);

}  // namespace cuvmm::doctor
