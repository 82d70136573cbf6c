// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools and the memory that was taken from them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "api/location.h"
#include "rulebook/violation.h"

namespace cuvmm {

struct Pool {
  std::uint64_t handle = 0;  ///< the CUmemoryPool's value
  CUmemLocation location{};  ///< type 0: managed memory; of an imported pool mostly: unknown
  unsigned handle_types = 0;
  bool imported = false;
  bool exported = false;  ///< at least once
  /// Devices that cuMemPoolSetAccess gave READWRITE, as a mask; its own one has it anyway.
  std::uint64_t access = 0;
  Origin made;

  bool on_host() const { return is_host(location); }
};

/// Memory of a pool: allocated here, or imported from the pool's owner.
struct PoolMemory {
  std::uint64_t base = 0;
  std::uint64_t size = 0;  ///< bytes; 0 unknown (imported)
  std::uint64_t pool = 0;
  std::vector<std::uint64_t> also;  ///< further pools that it was imported through: it has one base
  bool imported = false;
  CUmemLocation location{};  ///< its pool's; type 0 unknown
  /// There are devices that may not touch it: it is the host's, or there is another than its own.
  bool bounded = false;
  std::optional<std::uint64_t> access;  ///< what its pool had when it was destroyed
  Origin made;

  bool on_host() const { return is_host(location); }
};

}  // namespace cuvmm
