// SPDX-License-Identifier: Apache-2.0
// How a function of NVML gets the machine.
#pragma once

#include "emulator/nvml/error.h"
#include "emulator/nvml/machine.h"
#include "emulator/nvml/start.h"

namespace cuvmm::nvml {

/// Runs body(machine), as anytime(), while NVML is started: after nvmlInit and before nvmlShutdown.
template <class Body>
Error on_machine(Body&& body) noexcept {
  return started() ? anytime(body) : kUninitialized;
}

/// Runs body(machine, index) for a valid handle of a device.
template <class Body>
Error on_device(Handle handle, Body&& body) noexcept {
  return on_machine([&](const Machine& machine) -> Error {
    const int device = machine.index(handle);
    return device < 0 ? kInvalidArgument : body(machine, device);
  });
}

}  // namespace cuvmm::nvml
