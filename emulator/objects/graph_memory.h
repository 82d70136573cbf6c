// SPDX-License-Identifier: Apache-2.0
// What each device keeps for graphs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <optional>

#include "rulebook/objects/objects.h"

namespace cuvmm::emulator {

/// Bytes of each device: they stay with an executable graph from its first launch to its end, and
/// then with the device until they are trimmed. The caller holds the emulator's lock.
class GraphMemory {
 public:
  /// An executable graph with allocations of so many bytes is launched first, or ends.
  void take(int device, Size bytes);
  void leave(int device, Size bytes);
  void trim(int device);

  /// Nothing for what is no attribute.
  std::optional<std::uint64_t> told(int device, CUgraphMem_attribute which) const;
  /// A high-water mark begins anew at what there is now; false for what is none.
  bool reset(int device, CUgraphMem_attribute which);

 private:
  struct Held {
    std::uint64_t used = 0, used_high = 0;
    std::uint64_t reserved = 0, reserved_high = 0;
  };
  std::map<int, Held> devices_;
};

}  // namespace cuvmm::emulator
