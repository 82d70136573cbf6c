// SPDX-License-Identifier: Apache-2.0
// The memory of a device that allocations outside of graphs can have.
#pragma once

#include <algorithm>
#include <cstdint>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// Bytes. A device keeps idle memory of graphs until the program trims it (cuDeviceGraphMemTrim).
inline std::uint64_t free_memory(Emulator& e, int device) {
  const std::uint64_t free = e.devices.free(device);
  e.graph_memory.look([&](Address address) { return e.plain.find(address) != nullptr; });
  const GraphMemory& graphs = e.graph_memory;
  const auto reserved = graphs.value(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT).value_or(0);
  const auto used = graphs.value(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT).value_or(0);
  return free - std::min(free, reserved - std::min(reserved, used));
}

}  // namespace cuvmm::emulator
