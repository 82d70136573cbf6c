// SPDX-License-Identifier: Apache-2.0
// Tiles of sparse arrays that show tile-pool memory.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

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
  /// Whether some array still shows this memory.
  bool shows(CUmemGenericAllocationHandle memory) const;

 private:
  void forget(CUmemGenericAllocationHandle memory) {
    if (tiles_.empty()) [[likely]]
      return;
    std::erase_if(tiles_, [&](const auto& entry) { return entry.second.memory == memory; });
  }

  std::map<Key, Tiles> tiles_;
};

}  // namespace cuvmm
