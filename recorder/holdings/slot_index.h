// SPDX-License-Identifier: Apache-2.0
// Finds the slot of a table that has a key, by one flat array of numbers without a node per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cuvmm::holdings {

class SlotIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// `key_at(slot)` returns the key of a slot that was added before.
  template <class KeyAt>
  std::uint32_t find(std::uint64_t key, const KeyAt& key_at) const {
    if (count_ == 0) [[unlikely]]
      return kNone;
    for (std::size_t at = home(key);; at = next(at)) {
      const std::uint32_t slot = places_[at];
      if (slot == kNone || key_at(slot) == key) [[likely]]
        return slot;
    }
  }

  /// The index must not have the key yet. Throws std::bad_alloc before anything has changed.
  template <class KeyAt>
  void add(std::uint64_t key, std::uint32_t slot, const KeyAt& key_at) {
    if ((std::size_t{count_} + 1) * 2 > places_.size()) [[unlikely]]
      grow(key_at);
    ++count_;
    put(key, slot);
  }

  /// Returns the slot that the key had; kNone where the index does not have the key.
  template <class KeyAt>
  std::uint32_t remove(std::uint64_t key, const KeyAt& key_at) {
    if (count_ == 0) [[unlikely]]
      return kNone;
    std::size_t hole = home(key);
    while (places_[hole] != kNone && key_at(places_[hole]) != key) hole = next(hole);
    const std::uint32_t slot = places_[hole];
    if (slot == kNone) [[unlikely]]
      return kNone;
    --count_;
    // Later entries move into the hole, because a search ends at the first empty place.
    for (std::size_t at = next(hole); places_[at] != kNone; at = next(at)) [[unlikely]] {
        const std::size_t wanted = home(key_at(places_[at]));
        const bool stays =
            hole <= at ? hole < wanted && wanted <= at : hole < wanted || wanted <= at;
        if (stays) continue;
        places_[hole] = places_[at];
        hole = at;
      }
    places_[hole] = kNone;
    return slot;
  }

  void clear() {
    places_.clear();
    count_ = 0;
    mask_ = 0;
  }

 private:
  std::size_t home(std::uint64_t key) const {
    // The hash multiplies, because addresses and handles differ mostly in their middle bits.
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  std::size_t next(std::size_t at) const { return (at + 1) & mask_; }
  void put(std::uint64_t key, std::uint32_t slot) {
    std::size_t at = home(key);
    while (places_[at] != kNone) at = next(at);
    places_[at] = slot;
  }
  template <class KeyAt>
  [[gnu::cold, gnu::noinline]] void grow(const KeyAt& key_at) {
    std::vector<std::uint32_t> before(places_.empty() ? 64 : places_.size() * 2, kNone);
    before.swap(places_);
    mask_ = static_cast<std::uint32_t>(places_.size() - 1);
    for (const std::uint32_t slot : before) {
      if (slot != kNone) put(key_at(slot), slot);
    }
  }

  std::vector<std::uint32_t> places_;  // a power of two, at most half in use
  std::uint32_t count_ = 0;
  std::uint32_t mask_ = 0;
};

}  // namespace cuvmm::holdings
