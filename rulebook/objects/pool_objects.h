// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools and the memory that was taken from them.
#pragma once

#include <cuda.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "api/location.h"
#include "api/newer/pools.h"
#include "rulebook/base/violation.h"

namespace cuvmm {

/// A place and a type of memory: for each, one pool is the default one, and one the current one. An
/// id that says nothing is 0.
struct PoolPlace {
  int type = 0;      ///< CUmemAllocationType
  int location = 0;  ///< CUmemLocationType
  int id = 0;
  auto operator<=>(const PoolPlace&) const = default;
};

inline PoolPlace pool_place(const CUmemLocation& location, CUmemAllocationType type) {
  const LocalityDomain at = locality_domain(location);
  const int kind = static_cast<int>(location.type);
  const bool numbered = kind == kLocationDevice || kind == kLocationHostNuma;
  return {static_cast<int>(type), kind,
          is_domain(location) ? at.device | at.domain << 8 : (numbered ? location.id : 0)};
}

struct Pool {
  std::uint64_t handle = 0;  ///< the CUmemoryPool's value
  /// Where its memory lies; type 0: managed memory, and of an imported pool that it is unknown.
  CUmemLocation location{};
  CUmemLocation prefers{};  ///< where managed memory prefers to be
  bool managed = false;
  unsigned handle_types = 0;
  bool rdma = false;        ///< created with gpuDirectRDMACapable
  bool is_default = false;  ///< of a device, or of another place: it is never destroyed
  bool foreign = false;     ///< handed out by the driver, and made where we did not see it
  bool imported = false;
  bool exported = false;          ///< at least once
  std::optional<unsigned> usage;  ///< the bits it was created with; nothing: unknown
  /// Devices that cuMemPoolSetAccess gave READWRITE, as a mask; its own one has it anyway.
  std::uint64_t access = 0;
  Origin made;

  bool on_host() const { return is_host(location); }
  /// Where an imported pool lies may be unknown.
  bool placed() const { return managed || static_cast<int>(location.type) != 0; }
  /// The place that it can serve as the current pool.
  PoolPlace serves() const {
    return pool_place(managed ? prefers : location,
                      managed ? kManagedMemory : CU_MEM_ALLOCATION_TYPE_PINNED);
  }
};

/// Memory of a pool: allocated here, or imported from the pool's owner.
struct PoolMemory {
  std::uint64_t base = 0;
  std::uint64_t size = 0;  ///< bytes; 0 unknown (imported)
  std::uint64_t pool = 0;
  std::vector<std::uint64_t> also;  ///< further pools that it was imported through: it has one base
  bool imported = false;
  CUmemLocation location{};  ///< its pool's; type 0 unknown, or managed
  bool managed = false;
  bool rdma = false;  ///< its pool's
  /// There are devices that may not touch it: it is the host's, or there is another than its own.
  bool bounded = false;
  std::optional<std::uint64_t> access;  ///< what its pool had when it was destroyed
  Origin made;

  bool pool_is_gone() const { return access.has_value(); }
  bool on_host() const { return is_host(location); }
};

}  // namespace cuvmm
