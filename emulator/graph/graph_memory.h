// SPDX-License-Identifier: Apache-2.0
// Memory of graphs: what allocation nodes allocate at launches, and what a device tells of it.
#pragma once

#include <cuda.h>

#include <map>

#include "emulator/base/emulator.h"

namespace cuvmm::emulator {

/// The memory of an allocation node: its address is its own from the node's making on, and is taken
/// again where it was freed before the graph is launched once more. Ends under the emulator's lock.
struct NodeMemory {
  NodeMemory(Address base, Size size, const Pool& pool)
      : base(base), size(size), pool(pool.handle()), prop(pool.prop()) {}
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  CUresult allocate(Emulator& e);
  /// INVALID_VALUE where nothing is allocated at the address.
  static CUresult release(Emulator& e, Address address);

  Address base;
  Size size;
  std::uint64_t pool;
  CUmemAllocationProp prop;
  bool reserved = true;  ///< by the node, and not used yet
};

/// What a device keeps for graphs: memory stays with an executable graph from its first launch to
/// its end, and then with the device until it is trimmed.
struct GraphMemory {
  std::uint64_t used = 0, used_high = 0;
  std::uint64_t reserved = 0, reserved_high = 0;

  /// Of this device; the caller holds the emulator's lock.
  static GraphMemory& of(int device);
  /// An executable graph with allocations of so many bytes is launched first, or ends.
  void take(Size bytes);
  void leave(Size bytes);
};

}  // namespace cuvmm::emulator
