// SPDX-License-Identifier: Apache-2.0
// Tiles of sparse arrays that show tile-pool memory.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "api/calls.h"
#include "rulebook/model/surroundings.h"

namespace cuvmm {

/// What cuMemMapArrayAsync mapped, by array and region, until it is unmapped. cuvmm does not see
/// calls about arrays, so a destroyed array keeps its tiles here. That is the safe side: memory
/// behind them is never taken for unused.
class TileState {
 public:
  struct Tiles {
    CUmemGenericAllocationHandle memory = 0;
    std::uint64_t offset = 0;  ///< in the memory
    std::uint64_t size = 0;    ///< bytes of a mip tail; else 0: unknown
    int device = -1;           ///< of the memory; -1 unknown
    std::uint16_t number = 0;  ///< of its entry in the call
    Origin made;
  };
  /// The array, the kind of region and its numbers.
  using Key = std::array<std::uint64_t, 10>;

  static Key key(const CUarrayMapInfo& info);
  void confirm(const calls::MemMapArrayAsync& call, const Facts& facts, Origin at,
               const Surroundings& around);
  // A handle value that the driver gave out anew has no tiles.
  void confirm(const calls::MemCreate& call, const Facts&, Origin, const Surroundings&) {
    forget(*call.handle);
  }
  void confirm(const calls::MemImportFromShareableHandle& call, const Facts&, Origin,
               const Surroundings&) {
    forget(*call.handle);
  }
  const std::map<Key, Tiles>& all() const { return tiles_; }
  /// What the region of this entry shows; null: nothing.
  const Tiles* find(const CUarrayMapInfo& info) const {
    const auto found = tiles_.find(key(info));
    return found == tiles_.end() ? nullptr : &found->second;
  }
  /// What the last call that was accepted ended, with its array.
  const std::vector<std::pair<std::uint64_t, Tiles>>& ended() const { return ended_; }
  /// Whether some array still shows this memory.
  bool shows(CUmemGenericAllocationHandle memory) const;

 private:
  void forget(CUmemGenericAllocationHandle memory) {
    if (tiles_.empty()) [[likely]]
      return;
    std::erase_if(tiles_, [&](const auto& entry) { return entry.second.memory == memory; });
  }

  std::map<Key, Tiles> tiles_;
  std::vector<std::pair<std::uint64_t, Tiles>> ended_;
};

}  // namespace cuvmm
