// SPDX-License-Identifier: Apache-2.0
// The memory that each device holds for graphs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <optional>

#include "rulebook/objects/objects.h"

namespace cuvmm::emulator {

/// Bytes of each device: they stay with an executable graph from its first launch to its end, and
/// then with the device until the program trims them. The caller holds the emulator's lock.
class GraphMemory {
 public:
  /// take(): an executable graph with allocations of `bytes` bytes is launched for the first time;
  /// leave(): it ends.
  void take(int device, Size bytes);
  void leave(int device, Size bytes);
  void trim(int device);

  /// The value of an attribute; nothing for a number that is no attribute.
  std::optional<std::uint64_t> told(int device, CUgraphMem_attribute which) const;
  /// Sets a high-water mark to the present value; false where `which` is no high-water mark.
  bool reset(int device, CUgraphMem_attribute which);

 private:
  struct Held {
    std::uint64_t used = 0, used_high = 0;
    std::uint64_t reserved = 0, reserved_high = 0;
  };
  std::map<int, Held> devices_;
};

}  // namespace cuvmm::emulator
