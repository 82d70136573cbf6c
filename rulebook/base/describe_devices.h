// SPDX-License-Identifier: Apache-2.0
// Reads the devices' attributes for the rules. The shim asks the driver, the emulator asks its
// profile.
#pragma once

#include <functional>
#include <optional>

#include "rulebook/base/platform.h"

namespace cuvmm {

/// Gives the value of a CUdevice_attribute, by its number, for a device; nothing if the driver does
/// not know the attribute.
using AskAttribute = std::function<std::optional<int>(int attribute, int device)>;

/// Reads the attributes for the rules about newer kinds of memory: localities, RDMA, managed
/// memory. A value stays unknown where the driver is older than the attribute and refuses it. Asks
/// nothing for 0 devices, or for more than kMaxDevices.
void describe_devices(int devices, const AskAttribute& ask, Platform& platform);

/// The same for logical endpoints (CUDA 13.3), and for bindings that need not be aligned (13.4).
void describe_endpoints(int devices, const AskAttribute& ask, Platform& platform);

}  // namespace cuvmm
