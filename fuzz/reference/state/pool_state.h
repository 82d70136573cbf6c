// SPDX-License-Identifier: Apache-2.0
// The reference's state of pools, and of bytes that stand for memory of other processes.
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
    int source;  ///< index of the pool that an imported pool shows; -1: a pool of its own
    bool live = true;
    bool is_default = false;
    bool exported = false;
    std::vector<int> given = {};  ///< devices that got access to it, beside its own device
    bool vague = false;           ///< access changed after the pool's end
    /// The values of attributes 1 to 4, by number - 1; -1 where unknown.
    std::array<std::int64_t, 4> values = {-1, -1, -1, -1};
    bool set = false;  ///< the program set an attribute
  };
  /// The bytes of an export of a pointer, or of plain memory.
  struct Token {
    Blob bytes;
    int memory;  ///< index into the list of plain memory
    bool of_pool;
  };
  /// The pool that a program made current for a place; replaces earlier ones.
  struct Current {
    int location_type, location;
    int pool;  ///< index
  };
  std::vector<Pool> pools;
  std::vector<Current> current;
  std::vector<Token> tokens;

  void clear() { *this = {}; }
  /// The last pool with this value; -1 for none.
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
