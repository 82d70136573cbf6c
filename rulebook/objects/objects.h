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

/// Whether [a, a + a_size) and [b, b + b_size) share a byte. Adds nothing, so nothing can wrap.
inline bool overlap(Address a, Size a_size, Address b, Size b_size) {
  return a < b ? b - a < a_size : a - b < b_size;
}
/// Whether [base, base + size) ends inside of [at, at + at_size) or at its end. The two ranges must
/// overlap. A loop over ranges stops at such a range, because the step behind the last entry of a
/// large map costs as much as a search.
inline bool reaches_end(Address at, Size at_size, Address base, Size size) {
  return at < base ? at_size - (base - at) >= size : at_size >= size - (at - base);
}
using Handle = CUmemGenericAllocationHandle;

/// A live address range from cuMemAddressReserve.
struct Reservation {
  Address base = 0;
  Size size = 0;
  Origin made;
  /// A cuMemAddressFree of the base that the driver refused. The program has given the range up.
  Origin free_refused;
  Origin unmapped;      ///< the last call that unmapped memory in it
  bool mapped = false;  ///< memory was mapped in it
  bool reused = false;  ///< memory was mapped in it after memory had been unmapped
};

/// Physical memory as this process knows it: one handle value and its references.
struct Allocation {
  Handle handle = 0;
  Size size = 0;         ///< bytes; 0 unknown (an import whose size is not learned yet)
  Size granularity = 0;  ///< MINIMUM granularity for its properties, 0 unknown
  CUmemAllocationProp prop{};
  bool prop_known = false;
  bool imported = false;
  bool multicast = false;  ///< the handle is that of a multicast object
  bool creation_seen =
      true;  ///< false: cuvmm did not see it being made; it may have more references
  std::uint32_t references = 0;  ///< creates, imports and retains minus releases
  std::uint32_t retains = 0;     ///< how many of all references ever taken came from a retain
  std::uint32_t mappings = 0;
  Origin made;
  Origin retained;  ///< the last retain
  Origin released;  ///< the last release
  Origin unmapped;  ///< the call that removed its last mapping
};

/// Access per location as bit masks: bit d for device d (0..61), kHostBit for every host location.
/// kDeviceLastBit of `read` grants nothing: it says that device 0's access was changed after the
/// host's.
struct AccessMask {
  static constexpr std::uint64_t kHostBit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kDeviceLastBit = std::uint64_t{1} << 62;
  std::uint64_t read = 0;
  std::uint64_t write = 0;

  /// The location whose access a driver answers for HOST: the host or device 0. The
  /// driver takes the location that has access and was changed last (an H200 was asked after all
  /// orders of up to three settings).
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

/// A shareable descriptor that this process exported, as long as cuvmm has not seen its close.
struct Export {
  int fd = -1;
  Handle handle = 0;
  Size size = 0;  ///< of the allocation, which may be released since; 0 unknown
  Origin made;
};

}  // namespace cuvmm
