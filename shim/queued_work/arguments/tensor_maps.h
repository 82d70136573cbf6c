// SPDX-License-Identifier: Apache-2.0
// Tensor maps that the program encoded: 128 bytes whose layout is not documented, which kernels
// take by value. cuvmm knows a map by its bytes, wherever the program has copied them.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>

#include "rulebook/order/uses.h"
#include "shim/queued_work/held_across_fork.h"

namespace cuvmm::shim {

/// Thread-safe.
class TensorMaps : public HeldAcrossFork {
 public:
  static constexpr std::size_t kBytes = sizeof(CUtensorMap);
  /// The alignment of a map among the parameters of a kernel, by the documentation.
  static constexpr std::size_t kAlignment = 64;
  /// If the program encodes more maps, the oldest is forgotten.
  static constexpr std::size_t kMost = 4096;

  /// Whether the program has encoded a map.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void note(const void* map, const UsedRange& tensor);
  /// The tensor of a map, if these bytes are a map.
  std::optional<UsedRange> find(const void* bytes) const {
    std::uint64_t words[2];
    std::memcpy(words, bytes, sizeof words);
    const std::uint64_t bit = bit_of(words[0], words[1]);
    const bool may_be = filter_[bit / 64].load(std::memory_order_relaxed) >> bit % 64 & 1;
    return may_be ? look_up(bytes) : std::nullopt;
  }

  void restart(bool whole) CUVMM_UNCHECKED;

 private:
  using Key = std::array<std::uint64_t, kBytes / sizeof(std::uint64_t)>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 0;
      for (const std::uint64_t word : key) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };
  static Key key_of(const void* bytes) {
    Key key;
    std::memcpy(key.data(), bytes, kBytes);
    return key;
  }
  // A filter on the first two words: nearly all bytes begin differently from any map, and for them
  // no more bytes are read.
  static constexpr std::size_t kFilterWords = 256;
  static std::uint64_t bit_of(std::uint64_t first, std::uint64_t second) {
    const std::uint64_t mixed = (first ^ second * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
    return mixed >> 32 & (64 * kFilterWords - 1);
  }
  std::optional<UsedRange> look_up(const void* bytes) const;

  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> filter_[kFilterWords] = {};
  std::unordered_map<Key, UsedRange, Hash> known_ CUVMM_GUARDED_BY(mutex_);
  std::deque<Key> oldest_ CUVMM_GUARDED_BY(mutex_);
};

/// The bytes of a tensor, from its first element to its last. Size 0: the size is not known. `dims`
/// has `rank` numbers of elements; `strides` one less, in bytes.
UsedRange tensor_range(CUtensorMapDataType type, unsigned rank, const void* address,
                       const cuuint64_t* dims, const cuuint64_t* strides,
                       CUtensorMapInterleave interleave);

}  // namespace cuvmm::shim
