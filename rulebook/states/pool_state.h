// SPDX-License-Identifier: Apache-2.0
// The stream-ordered pools and their memory, as one process knows them.
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
  /// The pools that the program set as current, or that the driver named as current.
  const std::map<PoolPlace, std::uint64_t>& current() const { return current_; }
  /// The current pool of a place; 0 unknown. pools() may lack the pool.
  std::uint64_t current_at(const PoolPlace& place) const;
  /// The pool that cuMemAllocAsync takes memory from on a device; 0 unknown.
  std::uint64_t current_of(int device) const;
  /// Whether the driver named the pool as some place's pool, even if nothing else is known about
  /// it.
  bool serves_a_place(CUmemoryPool pool) const;
  /// How many pieces of live memory come from the pool.
  std::size_t taken_from(std::uint64_t pool) const;

  const Pool* find(std::uint64_t handle) const;
  const Pool* find(CUmemoryPool pool) const { return find(reinterpret_cast<std::uintptr_t>(pool)); }
  /// The live memory that holds this address, or null. Imported memory is found by its base only.
  const PoolMemory* memory_at(std::uint64_t address) const;
  /// The same, but null for memory that every device may touch.
  const PoolMemory* bounded_memory_at(std::uint64_t address) const;
  /// Mask of the devices that have access to the memory, beside the memory's own device.
  std::uint64_t access_to(const PoolMemory& one) const;

  void begin(const calls::MemFree& call, Origin at, const Surroundings& around, Retired& retired);
  void begin(const calls::MemFreeAsync& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::MemPoolDestroy& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const Ending& ending, Origin at, const Surroundings& around, Retired& retired);

  void confirm(const calls::MemPoolCreate& call, const Facts& facts, Origin at,
               const Surroundings& around);
  /// `facts` say where the pool's memory lies and how large the pointer's memory is, where known.
  void confirm(const calls::MemPoolImportFromShareableHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemPoolSetAccess& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemPoolExportToShareableHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  // These calls change nothing here. The overloads make kMakes true for them, so that the shim
  // notes who made the call.
  void confirm(const calls::MemPoolExportPointer&, const Facts&, Origin, const Surroundings&) {}
  void confirm(const calls::MemPoolTrimTo&, const Facts&, Origin, const Surroundings&) {}
  void confirm(const calls::MemPoolSetAttribute&, const Facts&, Origin, const Surroundings&) {}
  void confirm(const calls::MemAllocFromPoolAsync& call, const Facts& facts, Origin at,
               const Surroundings& around);
  /// `facts` name the pool, if known. Memory of an unknown pool is recorded as memory of some pool.
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
  /// `facts` describe the pool, if the driver was asked.
  void confirm(const calls::MemGetMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemSetMemPool& call, const Facts& facts, Origin at,
               const Surroundings& around);
  // Memory of cuMemAlloc and related calls, which may come to lie where a driver has ended memory
  // of a pool with its context.
  void confirm(const calls::MemAlloc& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemAllocPitch& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemAllocManaged& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const RarelyRetired& taken, Origin at, const Surroundings& around);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

  /// Puts in memory that another view of this process knew.
  void restore(const PoolMemory& known) { add(known); }

  /// The invariant, for assertions: each piece of memory is counted once for every pool that it
  /// comes from.
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
  void outlive(const EndedContext& ended, Origin at);
  void forget_outlived(std::uint64_t base, std::uint64_t size);

  std::unordered_map<std::uint64_t, Pool> pools_;
  std::map<std::uint64_t, PoolMemory> memory_;
  std::map<PoolPlace, std::uint64_t> current_;
  std::map<PoolPlace, std::uint64_t> defaults_;
  std::map<std::uint64_t, std::uint32_t> taken_;  ///< pieces of live memory by pool
  /// Pieces of live memory with PoolMemory::bounded.
  std::size_t bounded_ = 0;
  bool any_outlived_ = false;  ///< some memory had PoolMemory::outlived
  /// Masks of the devices that cuMemPoolSetAccess gave READWRITE to a default pool, by the pool's
  /// device.
  std::map<int, std::uint64_t> default_access_;
};

}  // namespace cuvmm
