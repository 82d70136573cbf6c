// SPDX-License-Identifier: Apache-2.0
// The objects of virtual memory management as one process knows them: reservations, allocations,
// mappings and exported descriptors.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "rulebook/base/violation.h"

namespace cuvmm {

using Address = std::uint64_t;
using Size = std::uint64_t;

/// [a, a + a_size) and [b, b + b_size) share a byte. Never adds, so it cannot wrap.
inline bool overlap(Address a, Size a_size, Address b, Size b_size) {
  return a < b ? b - a < a_size : a - b < b_size;
}
/// The last byte of [base, base + size) is in [at, at + at_size) or before it, where both overlap.
/// Loops over a range stop there: to step on from the last entry of a large map costs as much as a
/// search.
inline bool reaches_end(Address at, Size at_size, Address base, Size size) {
  return at < base ? at_size - (base - at) >= size : at_size >= size - (at - base);
}
using Handle = CUmemGenericAllocationHandle;

/// A live address range from cuMemAddressReserve.
struct Reservation {
  Address base = 0;
  Size size = 0;
  Origin made;
  /// A cuMemAddressFree from its base on that the driver refused: the program gave it up.
  Origin free_refused;
  Origin unmapped;      ///< the last call that unmapped something in it
  bool mapped = false;  ///< something was
  bool reused = false;  ///< something was mapped after something had been unmapped
};

/// Physical memory as this process knows it: one handle value and its references.
struct Allocation {
  Handle handle = 0;
  Size size = 0;         ///< bytes; 0 unknown (an import whose size was not learned yet)
  Size granularity = 0;  ///< MINIMUM granularity for its properties, 0 unknown
  CUmemAllocationProp prop{};
  bool prop_known = false;
  bool imported = false;
  bool multicast = false;  ///< the handle is that of a multicast object
  bool creation_seen =
      true;  ///< false: made by a route we did not see; it may have more references
  std::uint32_t references = 0;  ///< creates, imports and retains minus releases
  std::uint32_t retains = 0;     ///< how many of all references ever taken came from a retain
  std::uint32_t mappings = 0;
  Origin made;
  Origin retained;  ///< the last retain
  Origin released;  ///< the last release
  Origin unmapped;  ///< the call that removed its last mapping
};

/// Access per location as bit masks: bit d for device d (0..61), kHostBit for every host location.
/// kDeviceLastBit of `read` is no access: device 0's was changed after the host's.
struct AccessMask {
  static constexpr std::uint64_t kHostBit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kDeviceLastBit = std::uint64_t{1} << 62;
  std::uint64_t read = 0;
  std::uint64_t write = 0;

  /// Whose access a driver answers for HOST: the host's or device 0's, of those that have any the
  /// one that was changed last (all orders of up to three settings, asked of an H200).
  std::uint64_t host_answer_bit() const {
    if (!(read & kHostBit)) return 1;
    return (read & 1) && (read & kDeviceLastBit) ? 1 : kHostBit;
  }
};

/// [base, base + size) backed by an allocation from its start, or by a multicast object from an
/// offset.
struct Mapping {
  Address base = 0;
  Size size = 0;
  Size offset = 0;
  Handle handle = 0;
  AccessMask access;
  Origin made;
};

/// A shareable descriptor that this process exported and has not been seen to close.
struct Export {
  int fd = -1;
  Handle handle = 0;
  Size size = 0;  ///< of the allocation, which may be released since; 0 unknown
  Origin made;
};

}  // namespace cuvmm
