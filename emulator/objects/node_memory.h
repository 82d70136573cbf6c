// SPDX-License-Identifier: Apache-2.0
// The memory of an allocation node, from the creation of the node to its end.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>

#include "emulator/machine/address_space.h"
#include "emulator/objects/memory/pools.h"
#include "rulebook/objects/objects.h"

namespace cuvmm::emulator {

/// The address range belongs to the node as long as the node lives, whether or not memory exists
/// there. Memory that the program did not free keeps the range beyond that. Ends under the
/// emulator's lock.
class NodeMemory {
 public:
  /// Memory of a pool, at an address range that the caller took for it. The range is long enough
  /// for allocations of other nodes that round to the same size.
  NodeMemory(AddressSpace& space, Address base, Size size, const Pool& pool)
      : range_(
            std::make_shared<const SharedRange>(space, base, (size + kUnit - 1) / kUnit * kUnit)),
        size_(size),
        pool_(pool.handle()),
        prop_(pool.prop()) {}

  /// Memory at the beginning of another node's range, which that node no longer needs.
  NodeMemory(const NodeMemory& other, Size size)
      : range_(other.range_), size_(size), pool_(other.pool_), prop_(other.prop_) {}

  Address base() const { return range_->base(); }
  Size size() const { return size_; }
  bool holds(Address address) const { return address - base() < size(); }
  std::uint64_t pool() const { return pool_; }
  const CUmemAllocationProp& prop() const { return prop_; }
  int device() const { return prop_.location.id; }
  const std::shared_ptr<const SharedRange>& range() const { return range_; }
  /// An executable graph has the node: no node added later can free its memory (recorded).
  void instantiate() { instantiated_ = true; }
  bool instantiated() const { return instantiated_; }

 private:
  static constexpr Size kUnit = 512;  // bytes, of an H100

  std::shared_ptr<const SharedRange> range_;
  Size size_;
  std::uint64_t pool_;
  CUmemAllocationProp prop_;
  bool instantiated_ = false;
};

}  // namespace cuvmm::emulator
