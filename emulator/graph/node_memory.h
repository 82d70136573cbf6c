// SPDX-License-Identifier: Apache-2.0
// The memory of an allocation node, from the node's making to its end.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "emulator/machine/address_space.h"
#include "emulator/pool/pools.h"
#include "rulebook/model/objects.h"

namespace cuvmm::emulator {

/// Its address is the node's own from the making on, and is taken again where it was freed before
/// the graph is launched once more. Ends under the emulator's lock.
class NodeMemory {
 public:
  /// Memory of a pool, at an address that was taken for it.
  NodeMemory(AddressSpace& space, Address base, Size size, const Pool& pool);
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  Address base() const { return base_; }
  Size size() const { return size_; }
  bool holds(Address address) const { return address - base_ < size_; }
  std::uint64_t pool() const { return pool_; }
  const CUmemAllocationProp& prop() const { return prop_; }
  int device() const { return prop_.location.id; }

  /// Hands the address to an allocation, which gives it back when it ends. False where somebody
  /// else took it since the last one ended.
  bool hand_out_address();

 private:
  AddressSpace& space_;
  Address base_;
  Size size_;
  std::uint64_t pool_;
  CUmemAllocationProp prop_;
  bool reserved_ = true;  ///< the address is the node's, since no launch used it yet
};

}  // namespace cuvmm::emulator
