// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory: the CPU's own address is the device address.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "emulator/objects/context.h"
#include "emulator/objects/memory/host_chunks.h"
#include "rulebook/model/model.h"

namespace cuvmm::emulator {

struct HostBlock {
  Address base = 0;
  Size size = 0;
  Context* context = nullptr;
  unsigned flags = 0;
  bool registered = false;  ///< cuMemHostRegister: the memory is the program's
  std::uint64_t id = 0;
  bool sync_memops = false;    ///< as the program set it
  HostChunks::Name chunk = 0;  ///< the chunk that the block was cut from; 0: registered memory
};

/// All page-locked memory of this process.
class HostBlocks {
 public:
  bool empty() const { return blocks_.empty(); }
  /// The block that holds an address, or null.
  const HostBlock* at(Address address) const;
  HostBlock* at(Address address) {
    return const_cast<HostBlock*>(static_cast<const HostBlocks*>(this)->at(address));
  }
  /// Whether a block begins in a range.
  bool begins_in(Address base, Size size) const;
  /// The flags that the driver allocated the block with, or that the program registered it with.
  unsigned flags(const HostBlock& block) const {
    return block.registered ? block.flags : chunks_.flags(block.chunk);
  }

  /// New memory; null where the host has none.
  void* allocate(Context& context, Size size, unsigned flags);
  /// Frees memory of allocate(); false where none begins at `base`.
  bool free(Address base);
  /// Frees the memory of allocate(), and ends that of lock(), of the context:
  /// `visit(base, registered)` for each piece.
  template <class Visit>
  void end_those_of(const Context& context, Visit&& visit) {
    std::vector<std::pair<Address, bool>> ends;
    for (const auto& [base, block] : blocks_) {
      if (block.context == &context) ends.emplace_back(base, block.registered);
    }
    for (const auto& [base, registered] : ends) {
      registered ? unlock(base) : free(base);
      visit(base, registered);
    }
  }
  /// Registers memory of the program that no block holds yet.
  void lock(Context& context, Address base, Size size, unsigned flags);
  /// Ends memory of lock(); false where none begins at `base`.
  bool unlock(Address base);

 private:
  /// The block that begins at an address, or null.
  const HostBlock* find(Address base, bool registered) const;
  /// Gives up the pages of freed memory, and keeps its addresses from other memory for a while.
  void set_aside(Address base, Size size);

  std::map<Address, HostBlock> blocks_;
  HostChunks chunks_;
  std::deque<std::pair<Address, Size>> freed_;  ///< the ranges that are set aside, oldest first
  Size freed_bytes_ = 0;
  std::uint64_t next_id_ = std::uint64_t{1} << 32;  ///< starts above the ids of physical memory
};

}  // namespace cuvmm::emulator
