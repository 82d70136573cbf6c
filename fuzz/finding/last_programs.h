// SPDX-License-Identifier: Apache-2.0
// The last programs of a search, in memory that outlives the process that runs them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// A ring in shared memory or in a mapped file. A search adds each program before it runs it, so
/// the program and those before it are there however the process ends. Zero bytes are an empty
/// ring. A reader must expect any bytes, because a file may be cut or old.
class LastPrograms {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr std::size_t kMostBytes = kHeaderBytes + kMostOps * sizeof(Op);

  /// Adds the bytes of a program; bytes over kMostBytes are cut off, as decode() cuts them.
  void add(std::span<const std::uint8_t> bytes) {
    Slot& slot = slots_[added_ % kMost];
    slot.size = static_cast<std::uint32_t>(std::min(bytes.size(), kMostBytes));
    if (slot.size) std::memcpy(slot.bytes, bytes.data(), slot.size);
    ++added_;
  }
  /// The programs in their order; the last one is the one that was running.
  std::vector<std::vector<std::uint8_t>> in_order() const {
    std::vector<std::vector<std::uint8_t>> out;
    const std::uint64_t count = std::min<std::uint64_t>(added_, kMost);
    for (std::uint64_t i = added_ - count; i < added_; ++i) {
      const Slot& slot = slots_[i % kMost];
      out.emplace_back(slot.bytes, slot.bytes + std::min<std::size_t>(slot.size, kMostBytes));
    }
    return out;
  }

 private:
  struct Slot {
    std::uint32_t size = 0;
    std::uint8_t bytes[kMostBytes] = {};
  };
  std::uint64_t added_ = 0;
  Slot slots_[kMost];
};

/// Writes the programs as FOLDER/00, FOLDER/01 and so on, and makes the folder. Returns the number
/// of programs that were written.
std::size_t write_programs(const std::vector<std::vector<std::uint8_t>>& programs,
                           const std::string& folder);

}  // namespace cuvmm::fuzz
