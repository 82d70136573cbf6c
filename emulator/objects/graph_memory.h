// SPDX-License-Identifier: Apache-2.0
// The memory that each device holds for graphs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "rulebook/objects/objects.h"

namespace cuvmm::emulator {

/// Blocks of each device. The allocations of an executable graph lie in a block, which is in use
/// while one of them lives, whether or not the executable graph does (recorded). A block that is
/// not in use stays with the device until the program trims it. The caller holds the emulator's
/// lock.
class GraphMemory {
 public:
  struct Block {
    Size bytes = 0;
    std::vector<Address> allocations{};
    int device = 0;
    bool owned = true;      ///< its executable graph lives
    bool lives = false;     ///< an allocation in it did, when look() looked
    bool reserved = false;  ///< the device holds the memory
  };
  /// take(): an executable graph with these allocations is launched for the first time; leave(): it
  /// ends. Between them the block has this number. use(): it is launched again.
  std::uint64_t take(int device, Block&& block);
  void use(std::uint64_t block);
  void leave(std::uint64_t block);
  void trim(int device);
  /// Looks which blocks are in use: `lives(address)` says whether an allocation lives.
  void look(const std::function<bool(Address)>& lives);

  /// Bytes that the device holds and no allocation lives in.
  std::uint64_t idle(int device) const;
  /// The value of an attribute; nothing for a number that is no attribute.
  std::optional<std::uint64_t> value(int device, CUgraphMem_attribute which) const;
  /// Sets a high-water mark to the present value; false where `which` is no high-water mark.
  bool reset(int device, CUgraphMem_attribute which);

 private:
  struct Held {
    std::uint64_t used_high = 0, reserved_high = 0;
    std::uint64_t spare = 0;  ///< of blocks whose executable graph has ended
  };
  std::uint64_t reserved(int device) const;

  std::map<int, Held> devices_;
  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t last_ = 0;
};

}  // namespace cuvmm::emulator
