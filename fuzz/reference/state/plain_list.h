// SPDX-License-Identifier: Apache-2.0
// Memory with addresses outside of all reservations: a flat list.
#pragma once

#include <cstdint>
#include <vector>

namespace cuvmm::fuzz {

struct PlainMemory {
  enum class Kind : std::uint8_t { kExternal, kPool, kTaken, kAlloc, kOpened };
  std::uint64_t base = 0, size = 0;
  Kind kind = Kind::kExternal;
  int memory = -1;             ///< index of the memory with its bytes
  std::uint64_t offset = 0;    ///< offset of its first byte in that memory
  int owner = -1;              ///< index of the object that it was made from, by kind
  std::vector<int> also = {};  ///< kTaken: further pools that it was imported through
  int source = -1;             ///< kTaken: index of the exported memory
  bool vague = false;  ///< kTaken: imported through a destroyed pool, which a driver may accept
  bool live = true;
  bool by_pool = false;  ///< kPool: freed by cuMemFreeAsync
  int opens = 0;         ///< kOpened: opens without a close
  int device = -1;       ///< device of the context that made, imported or opened it
};

class PlainList {
 public:
  void clear() { all_.clear(); }
  void add(const PlainMemory& one) { all_.push_back(one); }
  /// The live entry that has the address; null for none.
  const PlainMemory* at(std::uint64_t address) const {
    for (const PlainMemory& p : all_) {
      if (p.live && address >= p.base && address - p.base < p.size) return &p;
    }
    return nullptr;
  }
  /// The last entry that had the address; null for none, or if it still lives.
  const PlainMemory* ended_at(std::uint64_t address) const {
    const PlainMemory* found = nullptr;
    for (const PlainMemory& p : all_) {
      if (address >= p.base && address - p.base < p.size) found = &p;
    }
    return found && !found->live ? found : nullptr;
  }
  /// The last entry that began there, live or not.
  const PlainMemory* last(std::uint64_t base) const {
    const PlainMemory* found = nullptr;
    for (const PlainMemory& p : all_) {
      if (p.base == base) found = &p;
    }
    return found;
  }
  PlainMemory* live_base(std::uint64_t base) {
    for (PlainMemory& p : all_) {
      if (p.live && p.base == base) return &p;
    }
    return nullptr;
  }
  const PlainMemory* live_base(std::uint64_t base) const {
    return const_cast<PlainList*>(this)->live_base(base);
  }
  /// Whether a live entry shares bytes with the range.
  bool meets(std::uint64_t base, std::uint64_t size) const {
    for (const PlainMemory& p : all_) {
      if (p.live && (p.base >= base ? p.base - base < size : base - p.base < p.size)) return true;
    }
    return false;
  }
  int index(const PlainMemory& one) const { return static_cast<int>(&one - all_.data()); }
  const std::vector<PlainMemory>& all() const { return all_; }

 private:
  std::vector<PlainMemory> all_;
};

}  // namespace cuvmm::fuzz
