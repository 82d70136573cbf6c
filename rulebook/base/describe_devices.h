// SPDX-License-Identifier: Apache-2.0
// What the devices' attributes say to the rules. The shim asks the driver, the emulator its
// profile.
#pragma once

#include <functional>
#include <optional>

#include "rulebook/base/platform.h"

namespace cuvmm {

/// The value of a CUdevice_attribute, by its number, of a device; nothing from a driver that does
/// not know it.
using AskAttribute = std::function<std::optional<int>(int attribute, int device)>;

/// What the rules about newer kinds of memory ask of the devices: localities, RDMA, managed memory.
/// What a driver from before an attribute refuses stays unknown. Of no device, and of more than
/// kMaxDevices, nothing is asked.
void describe_devices(int devices, const AskAttribute& ask, Platform& platform);

/// Logical endpoints (CUDA 13.3), and bindings that need not be aligned (13.4).
void describe_endpoints(int devices, const AskAttribute& ask, Platform& platform);

}  // namespace cuvmm
