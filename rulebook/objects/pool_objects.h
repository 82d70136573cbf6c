// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools and the memory that comes from them.
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

/// A place and a type of memory. Each pair of them has a default pool and a current pool. The id is
/// 0 where the place needs none.
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
  /// Where the pool's memory lies. Type 0: managed memory, or an imported pool whose place is
  /// unknown.
  CUmemLocation location{};
  CUmemLocation prefers{};  ///< where managed memory prefers to be
  bool managed = false;
  unsigned handle_types = 0;
  bool rdma = false;        ///< created with gpuDirectRDMACapable
  bool is_default = false;  ///< the default pool of a device or another place; no call destroys it
  bool foreign = false;     ///< the driver handed it out, and cuvmm did not see it being made
  bool imported = false;
  bool exported = false;  ///< at least once
  /// The primary context of its device has ended since. An H100 keeps the pool, but no
  /// documentation says so.
  bool outlived = false;
  std::optional<unsigned> usage;  ///< the usage bits it was created with; nothing: unknown
  /// Mask of the devices that cuMemPoolSetAccess gave READWRITE; the pool's own device always has
  /// it.
  std::uint64_t access = 0;
  Origin made;

  bool on_host() const { return is_host(location); }
  /// The place of an imported pool may be unknown.
  bool placed() const { return managed || static_cast<int>(location.type) != 0; }
  /// The place whose current pool it can be.
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
  /// Further pools through which it was imported; it has one base.
  std::vector<std::uint64_t> also;
  bool imported = false;
  CUmemLocation location{};  ///< the place of its pool; type 0: unknown, or managed memory
  bool managed = false;
  bool rdma = false;  ///< its pool's
  /// Some device may not touch the memory, because the memory lies on the host, or because another
  /// device than its own exists.
  bool bounded = false;
  std::optional<std::uint64_t> access;  ///< the pool's access masks when the pool was destroyed
  Origin made;
  /// The call that ended the primary context of its device meanwhile; call 0: none. The memory is
  /// still allocated: an H100 was asked.
  Origin outlived{};

  bool pool_has_ended() const { return access.has_value(); }
  bool on_host() const { return is_host(location); }
};

}  // namespace cuvmm
