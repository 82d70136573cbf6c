// SPDX-License-Identifier: Apache-2.0
// Tiles of sparse arrays that show tile-pool memory.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "rulebook/violation.h"

namespace cuvmm {

/// What cuMemMapArrayAsync mapped, by array and region, until it is unmapped. cuvmm does not see
/// calls about arrays, so a destroyed array keeps its tiles here. That is the safe side: memory
/// behind them is never taken for unused.
class TileState {
 public:
  struct Tiles {
    CUmemGenericAllocationHandle memory = 0;
    Origin made;
  };
  /// The array, the kind of region and its numbers.
  using Key = std::array<std::uint64_t, 10>;

  static Key key(const CUarrayMapInfo& info);
  /// One entry of a successful call.
  void commit(const CUarrayMapInfo& info, Origin at);
  /// A handle value that the driver gave out anew has no tiles.
  void forget(CUmemGenericAllocationHandle memory) {
    if (tiles_.empty()) [[likely]]
      return;
    std::erase_if(tiles_, [&](const auto& entry) { return entry.second.memory == memory; });
  }
  /// Whether some array still shows this memory.
  bool shows(CUmemGenericAllocationHandle memory) const;
  std::size_t size() const { return tiles_.size(); }

 private:
  std::map<Key, Tiles> tiles_;
};

}  // namespace cuvmm
