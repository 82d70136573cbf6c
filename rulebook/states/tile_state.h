// SPDX-License-Identifier: Apache-2.0
// Tiles of sparse arrays that show tile-pool memory.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "api/calls.h"
#include "rulebook/objects/tile_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The mappings of cuMemMapArrayAsync, by array and region. A mapping is there until it is
/// unmapped, or until its array is destroyed or ends with its context. If the model did not see the
/// array being made, the context is unknown, and the mapping stays. So a check never takes memory
/// for unused that an array may still show.
class TileState {
 public:
  using Tiles = cuvmm::Tiles;
  using Key = TileKey;

  static Key key(const CUarrayMapInfo& info);
  void confirm(const calls::MemMapArrayAsync& call, const Facts& facts, Origin at,
               const Surroundings& around);
  // The driver gave a handle value out anew: the new memory has no tiles.
  void confirm(const calls::MemCreate& call, const Facts&, Origin, const Surroundings&) {
    forget(*call.handle);
  }
  void confirm(const calls::MemImportFromShareableHandle& call, const Facts&, Origin,
               const Surroundings&) {
    forget(*call.handle);
  }
  void begin(const calls::ArrayDestroy& call, Origin, const Surroundings&, Retired& retired) {
    take_out(reinterpret_cast<std::uintptr_t>(call.hArray), retired);
  }
  void begin(const calls::MipmappedArrayDestroy& call, Origin, const Surroundings&,
             Retired& retired) {
    take_out(reinterpret_cast<std::uintptr_t>(call.hMipmappedArray), retired);
  }
  /// Takes out the tiles of the arrays that ArrayState has just taken out.
  void begin(const Ending&, Origin, const Surroundings&, Retired& retired) {
    if (tiles_.empty() || !retired.rare) return;
    for (const ArrayObject& array : retired.rare->context.arrays) {
      if (array.context != 0) take_out(array.handle, retired);
    }
  }
  void undo(const RarelyRetired& taken, Origin, const Surroundings& around) {
    // Only then can another call have destroyed an array.
    const bool meanwhile = taken.context.ending;
    for (const auto& [region, tiles] : taken.tiles) {
      if (meanwhile && around.ends.contains(ObjectRef::Kind::kArray, region[0])) continue;
      tiles_.try_emplace(region, tiles);
    }
  }

  const std::map<Key, Tiles>& all() const { return tiles_; }
  /// The memory behind the region of this entry; null: none.
  const Tiles* find(const CUarrayMapInfo& info) const {
    const auto found = tiles_.find(key(info));
    return found == tiles_.end() ? nullptr : &found->second;
  }
  /// The tiles that the last accepted call ended, with their arrays.
  const std::vector<std::pair<std::uint64_t, Tiles>>& ended() const { return ended_; }
  /// Whether some array still shows this memory.
  bool shows(CUmemGenericAllocationHandle memory) const;

 private:
  void forget(CUmemGenericAllocationHandle memory) {
    if (tiles_.empty()) [[likely]]
      return;
    std::erase_if(tiles_, [&](const auto& entry) { return entry.second.memory == memory; });
  }
  void take_out(std::uint64_t array, Retired& retired);

  std::map<Key, Tiles> tiles_;
  std::vector<std::pair<std::uint64_t, Tiles>> ended_;
};

}  // namespace cuvmm
