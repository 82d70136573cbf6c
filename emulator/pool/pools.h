// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools. Stream order is program order here: memory comes and goes at once.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "emulator/machine/physical.h"

namespace cuvmm::emulator {

struct Pool {
  std::uint64_t handle = 0;
  CUmemAllocationProp prop{};  ///< where its memory lies, and what it can be exported as
  std::uint64_t max_size = 0;  ///< bytes; 0: as much as there is
  bool is_default = false;
  bool imported = false;
  bool destroyed = false;  ///< by name; it lasts until its last memory is freed
  std::uint64_t id = 0;    ///< the same in every process that has the pool; 0 until it is exported
  std::uint64_t live = 0;  ///< bytes that are allocated
  /// What the pool tells: bytes, without those that cuMemFreeAsync freed; recorded drivers go on
  /// counting what cuMemFree freed.
  std::uint64_t used = 0, used_high = 0;
  std::uint64_t reserved = 0, reserved_high = 0;  ///< bytes of the device, in whole chunks
  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};  ///< follow event dependencies, opportunistic, internal dependencies
  std::map<int, unsigned> access;  ///< of devices other than its own
  std::shared_ptr<Physical> file;  ///< what an export hands out

  /// Its memory is managed, and prop.location only where it prefers to be (type 0: nowhere).
  bool managed() const { return static_cast<int>(prop.type) == kManaged; }
  static constexpr int kManaged = 2;  ///< CU_MEM_ALLOCATION_TYPE_MANAGED, CUDA 13.0
};

/// The pools of this process; the caller holds the emulator's lock.
class Pools {
 public:
  /// One default pool per device, which is current at first.
  void open(int devices);
  Pool& create(const CUmemAllocationProp& prop);
  /// A live pool, not one that was destroyed; null for what is none.
  Pool* find(CUmemoryPool pool);
  const Pool* find(CUmemoryPool pool) const { return const_cast<Pools*>(this)->find(pool); }
  /// Whether a pool that was destroyed lay on this device.
  bool lay_on(CUmemoryPool pool, int device) const;
  Pool& default_of(int device) { return pools_.at(defaults_[static_cast<std::size_t>(device)]); }
  Pool& current_of(int device) { return pools_.at(current_[static_cast<std::size_t>(device)]); }
  /// As default_of and current_of, for any location and type of memory; the pools of the host's and
  /// of managed memory are made when they are first asked for. Null where there is no such
  /// location.
  Pool* default_at(const CUmemLocation& location, CUmemAllocationType type);
  Pool* current_at(const CUmemLocation& location, CUmemAllocationType type);
  /// Whether this memory of a host pool can be used by a device.
  bool reaches(std::uint64_t pool, int device) const;
  /// `location` is the pool's.
  void set_current_at(const CUmemLocation& location, const Pool& pool);
  /// Whether pools of managed memory can prefer this location.
  bool managed_place(const CUmemLocation& location) const {
    return place_of(location, static_cast<CUmemAllocationType>(Pool::kManaged)).has_value();
  }
  void set_current(int device, const Pool& pool) {
    current_[static_cast<std::size_t>(device)] = pool.handle;
  }
  /// Its devices go back to their default pools; the rest waits for the last free.
  void destroy(Pool& pool);
  void took(std::uint64_t pool, std::uint64_t bytes);
  /// Memory of a pool was freed, `by_pool` by cuMemFreeAsync; `pool` 0 does nothing.
  void freed(std::uint64_t pool, std::uint64_t bytes, bool by_pool);
  /// Gives back what is reserved and not needed, down to `keep` bytes.
  static void trim(Pool& pool, std::uint64_t keep);
  /// Whether so much more fits under the pool's largest size.
  static bool fits(const Pool& pool, std::uint64_t bytes);

  static CUmemoryPool handle_of(const Pool& pool) {
    return reinterpret_cast<CUmemoryPool>(pool.handle);
  }

  std::uint64_t numa_nodes = 1;  ///< a bit each

 private:
  /// The type of memory, a location's type and its id; an id that says nothing is 0.
  using Place = std::tuple<int, int, int>;
  /// Nothing where no pool of this type of memory can be.
  std::optional<Place> place_of(const CUmemLocation& location, CUmemAllocationType type) const;
  void drop_if_done(std::uint64_t handle);

  std::unordered_map<std::uint64_t, Pool> pools_;
  std::unordered_map<std::uint64_t, int> gone_;    ///< devices of destroyed pools, by handle
  std::vector<std::uint64_t> defaults_, current_;  ///< by device
  std::map<Place, std::uint64_t> other_defaults_, other_current_;  ///< not pinned on a device
  std::uint64_t next_ = 0xd000000000;
};

}  // namespace cuvmm::emulator
