// SPDX-License-Identifier: Apache-2.0
// The reference's state of arrays: flat lists.
#pragma once

#include <cstdint>
#include <vector>

namespace cuvmm::fuzz {

struct ArrayState {
  /// A mipmapped array.
  struct Mipmap {
    std::uint64_t value;  ///< the CUmipmappedArray
    std::uint64_t width, height;
    unsigned levels;
    int device;  ///< of the context that made it
    bool live = true;
  };
  /// An array, or a level of a mipmapped one. Elements have one byte.
  struct Array {
    std::uint64_t value;  ///< the CUarray
    int device;
    int mipmap;              ///< index; -1: an array of its own
    unsigned level;          ///< of the mipmapped array
    std::uint64_t width;     ///< bytes of a row
    std::vector<int> bytes;  ///< of all rows; -1: never written
    bool live = true;
  };
  std::vector<Mipmap> mipmaps;
  std::vector<Array> arrays;

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
