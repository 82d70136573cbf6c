// SPDX-License-Identifier: Apache-2.0
// What one process knows of stream-ordered pools and the memory it took from them.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "api/calls.h"
#include "rulebook/objects/pool_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The verbs are those of UnicastState.
class PoolState {
 public:
  const std::unordered_map<std::uint64_t, Pool>& pools() const { return pools_; }  ///< by handle
  const std::map<std::uint64_t, PoolMemory>& memory() const { return memory_; }    ///< by base
  /// The pools that were set, or seen, to be current.
  const std::map<PoolPlace, std::uint64_t>& current() const { return current_; }
  /// The current pool of a place, whether or not it is known itself; 0 unknown.
  std::uint64_t current_at(const PoolPlace& place) const;
  /// The pool that cuMemAllocAsync takes memory from on a device; 0 unknown.
  std::uint64_t current_of(int device) const;
  /// Whether the driver said that it is some place's pool, even if nothing else is known of it.
  bool serves_a_place(CUmemoryPool pool) const;
  /// How many pieces of live memory are of a pool.
  std::size_t taken_from(std::uint64_t pool) const;

  const Pool* find(std::uint64_t handle) const;
  const Pool* find(CUmemoryPool pool) const { return find(reinterpret_cast<std::uintptr_t>(pool)); }
  /// The live memory that holds this address, or null; imported memory is known by its base only.
  const PoolMemory* memory_at(std::uint64_t address) const;
  /// The same, and null for memory that every device may touch.
  const PoolMemory* bounded_memory_at(std::uint64_t address) const;
  /// Devices that were given access to the memory, beside its own, as a mask.
  std::uint64_t access_to(const PoolMemory& one) const;

  void begin(const calls::MemFree& call, Origin at, const Surroundings& around, Retired& retired);
  void begin(const calls::MemFreeAsync& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::MemPoolDestroy& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const Ending& ending, Origin at, const Surroundings& around, Retired& retired);

  void confirm(const calls::MemPoolCreate& call, const Facts& facts, Origin at,
               const Surroundings& around);
  /// `facts` say where the pool's memory lies and how large that of the pointer is, where known.
  void confirm(const calls::MemPoolImportFromShareableHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemPoolSetAccess& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemPoolExportToShareableHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  // They change nothing here. Others want to know who made them.
  void confirm(const calls::MemPoolExportPointer&, const Facts&, Origin, const Surroundings&) {}
  void confirm(const calls::MemPoolTrimTo&, const Facts&, Origin, const Surroundings&) {}
  void confirm(const calls::MemPoolSetAttribute&, const Facts&, Origin, const Surroundings&) {}
  void confirm(const calls::MemAllocFromPoolAsync& call, const Facts& facts, Origin at,
               const Surroundings& around);
  /// `facts` name the pool, where it is known. Memory of an unknown one is known to be a pool's.
  void confirm(const calls::MemAllocAsync& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemPoolImportPointer& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::DeviceSetMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::DeviceGetDefaultMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::DeviceGetMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemGetDefaultMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  /// `facts` say what the pool is, where the driver was asked.
  void confirm(const calls::MemGetMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemSetMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const RarelyRetired& taken, Origin at, const Surroundings& around);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

  /// Puts in what somebody else knew of the same process.
  void restore(const PoolMemory& known) { add(known); }

  /// The invariants: each piece of memory is counted once for every pool that it is of. For
  /// assertions.
  bool consistent() const;

 private:
  void allocated(std::uint64_t base, std::uint64_t size, std::uint64_t pool, const Facts& facts,
                 Origin at, const Surroundings& around);
  void note_default(std::uint64_t handle, const CUmemLocation& place, CUmemAllocationType type,
                    Origin at, const Surroundings& around);
  void note_current(std::uint64_t handle, const CUmemLocation& place, CUmemAllocationType type,
                    const Facts& facts, Origin at, const Surroundings& around);
  void add(const PoolMemory& taken_memory);
  void remove(std::uint64_t base);
  void count(const PoolMemory& one, int change);
  void take_memory(std::uint64_t base, const Surroundings& around, Retired& retired);
  void restore(const EndedContext& taken, const EndsMeanwhile& ends);

  std::unordered_map<std::uint64_t, Pool> pools_;
  std::map<std::uint64_t, PoolMemory> memory_;
  std::map<PoolPlace, std::uint64_t> current_;
  std::map<PoolPlace, std::uint64_t> defaults_;
  std::map<std::uint64_t, std::uint32_t> taken_;  ///< pieces of live memory by pool
  std::size_t bounded_ = 0;                       ///< pieces of live memory that are
  /// Devices that cuMemPoolSetAccess gave READWRITE to a default pool, by the pool's device.
  std::map<int, std::uint64_t> default_access_;
};

}  // namespace cuvmm
