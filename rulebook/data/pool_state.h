// SPDX-License-Identifier: Apache-2.0
// What one process knows of stream-ordered pools and the memory it took from them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

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

  bool on_host() const;
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

  bool on_host() const;
};

struct PoolState {
  std::unordered_map<std::uint64_t, Pool> pools;
  std::map<std::uint64_t, PoolMemory> memory;    ///< by base
  std::map<int, std::uint64_t> current;          ///< what cuDeviceSetMemPool set, by device
  std::map<std::uint64_t, std::uint32_t> taken;  ///< live memory() entries by pool
  std::size_t bounded = 0;                       ///< live memory() entries that are
  /// Devices that cuMemPoolSetAccess gave READWRITE to a default pool, by the pool's device.
  std::map<int, std::uint64_t> default_access;

  const Pool* find(std::uint64_t handle) const;
  const Pool* find(CUmemoryPool pool) const { return find(reinterpret_cast<std::uintptr_t>(pool)); }
  /// The live memory that holds this address, or null; imported memory is known by its base only.
  const PoolMemory* memory_at(std::uint64_t address) const;

  /// The same, and null for memory that every device may touch.
  const PoolMemory* bounded_memory_at(std::uint64_t address) const;

  /// Devices that were given access to the memory, beside its own, as a mask.
  std::uint64_t access_to(const PoolMemory& one) const;

  void add(const PoolMemory& taken_memory);
  void remove(std::uint64_t base);

 private:
  void count(const PoolMemory& one, int change);
};

}  // namespace cuvmm
