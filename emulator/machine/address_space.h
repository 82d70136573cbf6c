// SPDX-License-Identifier: Apache-2.0
// The device address space: reserved, inaccessible host address space, from which ranges are given
// out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "api/sizes.h"

namespace cuvmm::emulator {

/// Gives out ranges of 2 MiB granules from one arena, and maps a separate region for a range that
/// does not fit there. All of the address space is PROT_NONE: host code that touches a device
/// address faults, as on a GPU. Not thread-safe; all sizes and addresses in bytes.
class AddressSpace {
 public:
  /// Size and alignment together; take() refuses a larger request (measured: 64 TiB works, 128 TiB
  /// does not).
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 46;

  /// Reserves the arena, at `wish` if that is free (a multiple of kGranule; 0: wherever the system
  /// has space); false when the process has no address space left. Idempotent.
  bool open(std::uint64_t wish = 0);

  /// Takes a free range of `size` bytes (rounded up to granules) at a multiple of `alignment` (0 or
  /// a power of two; at least kGranule is used). `hint` is honoured when it is free inside the
  /// arena.
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment,
                                    std::uint64_t hint);
  /// As take(), in the upper half of the arena as long as that has room, where no later take() of
  /// other memory puts anything: a driver does not reuse the addresses of graphs for other memory
  /// (recorded).
  std::optional<std::uint64_t> take_apart(std::uint64_t size);
  /// Ends a range that take() returned for this size.
  void give_back(std::uint64_t base, std::uint64_t size);

  /// Whether [base, base + size) is device address space, free or taken.
  bool owns(std::uint64_t base, std::uint64_t size) const;
  /// Whether a byte of [base, base + size) belongs to the block of the driver itself.
  bool reserved_by_driver(std::uint64_t base, std::uint64_t size) const;
  /// Makes a range inaccessible again after something was mapped over it.
  void seal(std::uint64_t base, std::uint64_t size) const;

 private:
  /// Makes the `size` bytes at `at` the arena; false where `at` is 0, because the system refused
  /// the mapping.
  bool begin_at(std::uint64_t at, std::uint64_t size);
  std::optional<std::uint64_t> take_region(std::uint64_t size, std::uint64_t alignment);
  /// The address in a hole at which the next range begins; 0: the range does not fit.
  std::uint64_t place_in(std::uint64_t base, std::uint64_t hole, std::uint64_t size,
                         std::uint64_t alignment) const;
  void carve(std::map<std::uint64_t, std::uint64_t>::iterator hole, std::uint64_t base,
             std::uint64_t size);

  std::map<std::uint64_t, std::uint64_t> free_;     // base -> size, within the arena, coalesced
  std::map<std::uint64_t, std::uint64_t> regions_;  // base -> size: the arena and single regions
  std::uint64_t arena_ = 0;
  std::uint64_t arena_size_ = 0;
  std::uint64_t apart_ = 0;  ///< where take_apart() looks next; 0: it was not called yet
  std::uint64_t largest_ = kLargest;
  std::uint64_t fresh_ =
      0;  ///< no range begins below this address any more (emulator/hostile/hostile_driver.h)
};

/// A range that take() returned. The last of the SharedRange objects that share it gives it back.
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
