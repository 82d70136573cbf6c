// SPDX-License-Identifier: Apache-2.0
// The device address space: reserved, inaccessible host address space that hands out ranges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "api/sizes.h"

namespace cuvmm::emulator {

/// Hands out 2 MiB granules of one arena, and maps a region of its own for what does not fit there.
/// All of it is PROT_NONE: host code that touches a device address faults, as on a GPU. Not
/// thread-safe; all sizes and addresses in bytes.
class AddressSpace {
 public:
  /// Size and alignment together; a larger request is refused (measured: 64 TiB works, 128 does
  /// not).
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 46;

  /// Reserves the arena, at `wish` if that is free (a multiple of kGranule; 0: wherever the system
  /// has room); false when the process has no address space left. Idempotent.
  bool open(std::uint64_t wish = 0);

  /// A free range of `size` bytes (rounded up to granules) at a multiple of `alignment` (0 or a
  /// power of two; at least kGranule is used). `hint` is honoured when it is free inside the arena.
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment,
                                    std::uint64_t hint);
  /// Ends a range that take() returned for this size.
  void give_back(std::uint64_t base, std::uint64_t size);

  /// Whether [base, base + size) is device address space, free or not.
  bool owns(std::uint64_t base, std::uint64_t size) const;
  /// Whether a byte of [base, base + size) is held by the driver itself.
  bool reserved_by_driver(std::uint64_t base, std::uint64_t size) const;
  /// Makes a range inaccessible again after something was mapped over it.
  void seal(std::uint64_t base, std::uint64_t size) const;

 private:
  /// Whether an arena of `size` bytes now begins at `at`, which is 0 where the system refused it.
  bool begin_at(std::uint64_t at, std::uint64_t size);
  std::optional<std::uint64_t> take_region(std::uint64_t size, std::uint64_t alignment);
  /// Where in a hole the next range begins; 0: nowhere.
  std::uint64_t place_in(std::uint64_t base, std::uint64_t hole, std::uint64_t size,
                         std::uint64_t alignment) const;
  void carve(std::map<std::uint64_t, std::uint64_t>::iterator hole, std::uint64_t base,
             std::uint64_t size);

  std::map<std::uint64_t, std::uint64_t> free_;     // base -> size, within the arena, coalesced
  std::map<std::uint64_t, std::uint64_t> regions_;  // base -> size: the arena and single regions
  std::uint64_t arena_ = 0;
  std::uint64_t arena_size_ = 0;
  std::uint64_t largest_ = kLargest;
  std::uint64_t fresh_ =
      0;  ///< where no address below is given out any more (emulator/hostile/hostile_driver.h)
};

/// A range that take() returned, until the last of those who share it lets it go.
class SharedRange {
 public:
  SharedRange(AddressSpace& space, std::uint64_t base, std::uint64_t size)
      : space_(space), base_(base), size_(size) {}
  SharedRange(const SharedRange&) = delete;
  SharedRange& operator=(const SharedRange&) = delete;
  ~SharedRange() { space_.give_back(base_, size_); }

  std::uint64_t base() const { return base_; }
  std::uint64_t size() const { return size_; }

 private:
  AddressSpace& space_;
  std::uint64_t base_, size_;
};

}  // namespace cuvmm::emulator
