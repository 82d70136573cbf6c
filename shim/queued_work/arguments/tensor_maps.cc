// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/arguments/tensor_maps.h"

#include <limits>

namespace cuvmm::shim {

namespace {

constexpr unsigned kMostDimensions = 5;

// Bits of one element; 0 for a type that is newer than this table.
unsigned bits_of(CUtensorMapDataType type) {
  // The last three types are newer than the oldest headers that cuvmm builds with, so that the
  // table uses numbers.
  constexpr unsigned kBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kBits) ? kBits[index] : 0;
}

}  // namespace

UsedRange tensor_range(CUtensorMapDataType type, unsigned rank, const void* address,
                       const cuuint64_t* dims, const cuuint64_t* strides,
                       CUtensorMapInterleave interleave) {
  const UsedRange begin{reinterpret_cast<std::uintptr_t>(address), 0};
  const unsigned bits = bits_of(type);
  const bool plain = interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && bits != 0 && rank != 0 &&
                     rank <= kMostDimensions && dims && (rank == 1 || strides);
  if (!plain) return begin;
  // No driver accepts a dimension or a stride above these limits.
  constexpr cuuint64_t kMostElements = cuuint64_t{1} << 32;
  constexpr cuuint64_t kMostStride = cuuint64_t{1} << 40;
  unsigned __int128 size = 0;
  for (unsigned i = 0; i < rank; ++i) {
    if (dims[i] == 0 || dims[i] > kMostElements) return begin;
    if (i == 0) {
      size = (dims[0] * bits + 7) / 8;
    } else {
      if (strides[i - 1] >= kMostStride) return begin;
      size += static_cast<unsigned __int128>(dims[i] - 1) * strides[i - 1];
    }
  }
  const bool fits = size <= std::numeric_limits<Size>::max() - begin.base;
  return {begin.base, fits ? static_cast<Size>(size) : 0};
}

void TensorMaps::note(const void* map, const UsedRange& tensor) {
  const Key key = key_of(map);
  const std::uint64_t bit = bit_of(key[0], key[1]);
  filter_[bit / 64].fetch_or(std::uint64_t{1} << bit % 64, std::memory_order_relaxed);
  any_.store(true, std::memory_order_relaxed);
  const Locked lock(mutex_);
  const auto [place, added] = known_.insert_or_assign(key, tensor);
  if (!added) return;
  oldest_.push_back(key);
  if (oldest_.size() <= kMost) return;
  known_.erase(oldest_.front());
  oldest_.pop_front();
}

std::optional<UsedRange> TensorMaps::look_up(const void* bytes) const {
  const Key key = key_of(bytes);
  const Locked lock(mutex_);
  const auto found = known_.find(key);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void TensorMaps::restart(bool whole) {
  empty(whole, known_, oldest_);
  for (auto& word : filter_) word.store(0, std::memory_order_relaxed);
  any_.store(false, std::memory_order_relaxed);
}

}  // namespace cuvmm::shim
