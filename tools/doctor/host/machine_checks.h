// SPDX-License-Identifier: Apache-2.0
// Checks of the machine's files: modules, device nodes, IMEX channels, daemons.
#pragma once

#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

/// Returns the checks platform, kernel-module, device-nodes, imex-channels, imex-daemon and mps.
/// Opens /dev/nvidiactl, /dev/nvidia-uvm and the IMEX channels, and closes them without any ioctl.
std::vector<Check> check_machine(const Host& host);

}  // namespace cuvmm::doctor
