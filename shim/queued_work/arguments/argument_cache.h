// SPDX-License-Identifier: Apache-2.0
// The arguments of launches that a check has found right.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cuvmm::shim {

/// Thread-safe without a lock, because a place holds one hash of all facts that the answer depends
/// on: a reader never combines halves of two answers.
class ArgumentCache {
 public:
  /// The facts on which the answers for one launch depend besides the argument.
  struct Asked {
    std::uint64_t salt;
    Asked(std::uint64_t stream, std::uint64_t generation) : salt(mix(mix(stream) + generation)) {}
  };
  static constexpr unsigned kGranuleShift = 21;
  /// Stands for all addresses of a granule of 2 MiB: programs pass many addresses of few mappings.
  static std::uint64_t granule(std::uint64_t address) {
    return address >> kGranuleShift | std::uint64_t{1} << 63;
  }
  /// Whether the granule around the address lies in [base, base + size).
  static bool granule_within(std::uint64_t address, std::uint64_t base, std::uint64_t size) {
    constexpr std::uint64_t kSize = std::uint64_t{1} << kGranuleShift;
    const std::uint64_t first = address & ~(kSize - 1);
    return first >= base && size >= kSize && first - base <= size - kSize;
  }

  /// Joins several numbers to one, taken one after the other; `before`: the result for the numbers
  /// before, 0 at first.
  static std::uint64_t join(std::uint64_t before, std::uint64_t word) {
    return (before + word) * 0x9e3779b97f4a7c15u;
  }

  bool knows(std::uint64_t word, Asked asked) const {
    const std::uint64_t known = hash(word, asked);
    return places_[known >> kShift].load(std::memory_order_relaxed) == known;
  }
  void note(std::uint64_t word, Asked asked) {
    const std::uint64_t known = hash(word, asked);
    places_[known >> kShift].store(known, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kShift = 64 - 10;
  static constexpr std::size_t kPlaces = std::size_t{1} << (64 - kShift);

  static std::uint64_t mix(std::uint64_t value) {
    value = (value ^ value >> 32) * 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
  }
  // Never 0, because an empty place holds 0.
  static std::uint64_t hash(std::uint64_t word, Asked asked) {
    return mix(word ^ asked.salt) * 0x9e3779b97f4a7c15u | 1;
  }
  std::atomic<std::uint64_t> places_[kPlaces] = {};
};

}  // namespace cuvmm::shim
