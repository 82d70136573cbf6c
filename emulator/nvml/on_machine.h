// SPDX-License-Identifier: Apache-2.0
// How a function of NVML gets at the machine that it tells about.
#pragma once

#include "emulator/nvml/error.h"
#include "emulator/nvml/machine.h"
#include "emulator/nvml/start.h"

namespace cuvmm::nvml {

/// body(machine), as anytime(), once nvmlInit was called, and not yet shut down again.
template <class Body>
Error on_machine(Body&& body) noexcept {
  return started() ? anytime(body) : kUninitialized;
}

/// body(machine, index) for a handle of ours.
template <class Body>
Error on_device(Handle handle, Body&& body) noexcept {
  return on_machine([&](const Machine& machine) -> Error {
    const int device = machine.index(handle);
    return device < 0 ? kInvalidArgument : body(machine, device);
  });
}

}  // namespace cuvmm::nvml
