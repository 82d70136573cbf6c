// SPDX-License-Identifier: Apache-2.0
// The reference's state of arrays: flat lists.
#pragma once

#include <cstdint>
#include <vector>

namespace cuvmm::fuzz {

struct ArrayState {
  struct Box {
    std::uint64_t x, y, z;
  };
  /// An array whose size is a number of tiles or parts of them; it may be sparse.
  struct Tiled {
    std::uint64_t width = 0, height = 0;
    unsigned depth = 0, flags = 0;  ///< as in the descriptor
    unsigned levels = 1;
    bool followed = false;   ///< the array is one of these
    bool of_levels = false;  ///< mipmapped
  };
  /// A tile of a sparse array of two dimensions that shows memory.
  struct Tile {
    std::uint64_t x, y;
    int memory;     ///< index into the handles
    unsigned call;  ///< the number of the call that mapped it
  };
  struct Write {
    std::uint64_t at;
    std::vector<int> bytes;
  };
  /// A mipmapped array.
  struct Mipmap {
    std::uint64_t value;  ///< the CUmipmappedArray
    std::uint64_t width, height;
    unsigned levels;
    int device;  ///< of the context that made it
    bool live = true;
    Tiled tiled = {};
  };
  /// An array, or a level of a mipmapped one. Elements have one byte.
  struct Array {
    std::uint64_t value;  ///< the CUarray
    int device;
    int mipmap;              ///< index; -1: an array of its own
    unsigned level;          ///< of the mipmapped array
    std::uint64_t width;     ///< bytes of a row
    std::vector<int> bytes;  ///< of all rows; -1: never written; none for a tiled array
    bool live = true;
    Tiled tiled = {};
    std::vector<Tile> tiles = {};
    std::vector<Write> writes = {};  ///< of a tiled array, the last one last
    std::uint64_t rows() const { return tiled.followed ? tiled.height : bytes.size() / width; }
  };
  std::vector<Mipmap> mipmaps;
  std::vector<Array> arrays;
  unsigned calls = 0;  ///< that mapped tiles

  void clear() {
    mipmaps.clear();
    arrays.clear();
  }
  /// The live object with this value, else the last one that had it; -1 for none.
  template <class List>
  static int find(const List& list, std::uint64_t value) {
    int found = -1;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool better = found < 0 || list[i].live || !list[static_cast<std::size_t>(found)].live;
      if (list[i].value == value && better) found = static_cast<int>(i);
    }
    return found;
  }
};

}  // namespace cuvmm::fuzz
