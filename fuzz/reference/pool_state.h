// SPDX-License-Identifier: Apache-2.0
// What the reference knows of pools, and of the bytes that stand for memory elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cuvmm::fuzz {

using Blob = std::array<unsigned char, 64>;

struct PoolState {
  struct Pool {
    std::uint64_t value;  ///< the CUmemoryPool
    int location_type, location;
    unsigned types;
    int source;  ///< the pool that an imported one shows; -1: it is its own
    bool live = true;
    bool is_default = false;
    bool exported = false;
    std::vector<int> given = {};  ///< devices that it was set accessible for, beside its own
    bool vague = false;           ///< that was changed after its end
    /// What its attributes 1 to 4 are, by number - 1; -1 where it is not known.
    std::array<std::int64_t, 4> told = {-1, -1, -1, -1};
    bool set = false;  ///< one of them was set
  };
  /// What an export of a pointer, or of plain memory, wrote.
  struct Token {
    Blob bytes;
    int memory;  ///< index into the list of plain memory
    bool of_pool;
  };
  /// A pool was made the current one of a place; what was set before for that place is over.
  struct Current {
    int location_type, location;
    int pool;  ///< index
  };
  std::vector<Pool> pools;
  std::vector<Current> current;
  std::vector<Token> tokens;

  void clear() { *this = {}; }
  /// The last pool of that value; -1 for none.
  int find(std::uint64_t value) const {
    for (std::size_t i = pools.size(); i-- > 0;) {
      if (pools[i].value == value) return static_cast<int>(i);
    }
    return -1;
  }
  const Token* token(const void* bytes, bool of_pool) const {
    for (const Token& t : tokens) {
      if (t.of_pool != of_pool) continue;
      if (std::memcmp(t.bytes.data(), bytes, t.bytes.size()) == 0) return &t;
    }
    return nullptr;
  }
};

}  // namespace cuvmm::fuzz
