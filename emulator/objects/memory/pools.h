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

#include "api/location.h"
#include "api/newer/pools.h"
#include "emulator/machine/devices.h"
#include "emulator/machine/physical.h"

namespace cuvmm::emulator {

/// One pool. What it is never changes; what it holds changes with its memory alone.
class Pool {
 public:
  static constexpr int kManaged = kManagedMemory;
  static constexpr int kReuses = 3;  ///< event dependencies, opportunistic, internal dependencies

  /// Where its memory lies, and what it can be exported as.
  const CUmemAllocationProp& prop() const { return prop_; }
  std::uint64_t handle() const { return handle_; }
  bool is_default() const { return kind_ == Kind::kDefault; }
  bool imported() const { return kind_ == Kind::kImported; }
  /// Its memory is managed, and prop().location only where it prefers to be (type 0: nowhere).
  bool managed() const { return static_cast<int>(prop_.type) == kManaged; }
  bool on_device() const { return !managed() && is_device(prop_.location); }

  /// The same in every process that has the pool; 0 until it is exported.
  std::uint64_t id() const { return id_; }
  /// What an export hands out, or null.
  Physical* file() const { return file_.get(); }
  /// Its first export: the file has the id in it.
  void publish(std::uint64_t id, std::shared_ptr<Physical> file);

  /// Bytes that it may hold; 0: as many as there are.
  std::uint64_t max_size() const { return max_size_; }
  /// Created for the engine that unpacks.
  bool decompressed_into() const { return (prop_.allocFlags.usage & kUsageHwDecompress) != 0; }
  /// Whether so many more bytes fit under its largest size.
  bool fits(std::uint64_t bytes) const;
  /// What the pool tells: bytes, without those that cuMemFreeAsync freed; recorded drivers go on
  /// counting what cuMemFree freed.
  std::uint64_t used() const { return used_; }
  std::uint64_t used_high() const { return used_high_; }
  /// Bytes of the device, in whole chunks.
  std::uint64_t reserved() const { return reserved_; }
  std::uint64_t reserved_high() const { return reserved_high_; }
  /// A high-water mark begins anew at what there is now.
  void reset_used_high() { used_high_ = used_; }
  void reset_reserved_high() { reserved_high_ = reserved_; }
  /// Gives back what is reserved and not needed, down to `keep` bytes.
  void trim(std::uint64_t keep);
  std::uint64_t release_threshold() const { return release_threshold_; }
  void set_release_threshold(std::uint64_t bytes);

  /// What lets freed memory be used again: kept and told, and without effect.
  bool reuse(int which) const { return reuse_[which]; }
  void set_reuse(int which, bool on) { reuse_[which] = on; }

  /// What was set for a device; nothing where that never was.
  std::optional<unsigned> access(int device) const;
  void set_access(int device, unsigned flags);

 private:
  friend class Pools;  // it makes pools, and knows when one is done
  enum class Kind : std::uint8_t { kCreated, kDefault, kImported };

  Pool(std::uint64_t handle, const CUmemAllocationProp& prop, Kind kind);
  void take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes, bool by_pool);
  /// Whether it has memory that nothing is allocated of, or will: its threshold may be lower by
  /// now.
  bool keeps() const;
  /// Bytes of its device that an allocation of `bytes` costs.
  std::uint64_t growth(std::uint64_t bytes) const;
  /// Counts what it has of its device now.
  void charge();
  /// Destroyed by name, and its last memory is freed.
  bool done() const { return destroyed_ && live_ == 0; }

  std::uint64_t handle_;
  CUmemAllocationProp prop_;
  Kind kind_;
  bool destroyed_ = false;      ///< by name; it lasts until its last memory is freed
  std::uint64_t max_size_ = 0;  ///< bytes; 0: as much as there is
  std::uint64_t id_ = 0;
  std::shared_ptr<Physical> file_;
  std::uint64_t live_ = 0;  ///< bytes that are allocated
  std::uint64_t used_ = 0, used_high_ = 0;
  std::uint64_t reserved_ = 0, reserved_high_ = 0;
  Devices* devices_ = nullptr;  ///< where it is charged; null: nowhere
  std::uint64_t charged_ = 0;   ///< bytes
  std::uint64_t release_threshold_ = 0;
  bool reuse_[kReuses] = {true, true, true};
  std::map<int, unsigned> access_;  ///< of devices other than its own
};

/// The pools of this process; the caller holds the emulator's lock.
class Pools {
 public:
  /// One default pool per device, which is current at first. Each device has so many locality
  /// domains; `numa_nodes` has a bit for each.
  void open(Devices& devices, int domains, std::uint64_t numa_nodes);
  /// `max_size` in bytes; 0: as much as there is.
  Pool& create(const CUmemAllocationProp& prop, std::uint64_t max_size);
  /// A pool of another process, by the id that its descriptor has.
  Pool& adopt(const CUmemAllocationProp& prop, std::uint64_t id);
  /// A live pool, not one that was destroyed; null for what is none.
  Pool* find(CUmemoryPool pool);
  const Pool* find(CUmemoryPool pool) const { return const_cast<Pools*>(this)->find(pool); }
  /// What a pool was that was destroyed; null for what is none.
  const CUmemAllocationProp* gone(CUmemoryPool pool) const;
  /// Whether a pool that was destroyed lay on this device.
  bool lay_on(CUmemoryPool pool, int device) const;
  Pool& default_of(int device) { return pools_.at(defaults_[static_cast<std::size_t>(device)]); }
  Pool& current_of(int device) { return pools_.at(current_[static_cast<std::size_t>(device)]); }
  const Pool& current_of(int device) const {
    return pools_.at(current_[static_cast<std::size_t>(device)]);
  }
  /// As default_of and current_of, for any location and type of memory; the pools of the host's and
  /// of managed memory are made when they are first asked for. Null where there is no such
  /// location.
  Pool* default_at(const CUmemLocation& location, CUmemAllocationType type);
  Pool* current_at(const CUmemLocation& location, CUmemAllocationType type);
  /// Whether a place that exists has its default pool for its current one.
  bool is_at_default(const CUmemLocation& location, CUmemAllocationType type) const;
  /// Whether this memory of a host pool can be used by a device.
  bool reaches(std::uint64_t pool, int device) const;
  /// `location` is the pool's.
  void set_current_at(const CUmemLocation& location, const Pool& pool);
  /// Whether pools of managed memory can prefer this location.
  bool managed_place(const CUmemLocation& location) const {
    return place_of(location, static_cast<CUmemAllocationType>(Pool::kManaged)).has_value();
  }
  void set_current(int device, const Pool& pool) {
    current_[static_cast<std::size_t>(device)] = pool.handle();
  }
  /// Its devices go back to their default pools; the rest waits for the last free.
  void destroy(Pool& pool);
  void took(std::uint64_t pool, std::uint64_t bytes);
  /// Bytes of its device that a pool will take for so many more; nothing where it counts for none,
  /// as what is imported or on the host.
  std::optional<std::uint64_t> growth(std::uint64_t pool, std::uint64_t bytes) const;
  /// Memory of a pool was freed, `by_pool` by cuMemFreeAsync; `pool` 0 does nothing.
  void freed(std::uint64_t pool, std::uint64_t bytes, bool by_pool);

  static CUmemoryPool handle_of(const Pool& pool) {
    return reinterpret_cast<CUmemoryPool>(pool.handle());
  }

 private:
  /// The type of memory, a location's type and its id; an id that says nothing is 0.
  using Place = std::tuple<int, int, int>;
  /// Nothing where no pool of this type of memory can be.
  std::optional<Place> place_of(const CUmemLocation& location, CUmemAllocationType type) const;
  Pool& add(const CUmemAllocationProp& prop, Pool::Kind kind);
  void drop_if_done(std::uint64_t handle);

  Devices* devices_ = nullptr;
  std::unordered_map<std::uint64_t, Pool> pools_;
  std::unordered_map<std::uint64_t, CUmemAllocationProp> gone_;    ///< destroyed pools, by handle
  std::vector<std::uint64_t> defaults_, current_;                  ///< by device
  std::map<Place, std::uint64_t> other_defaults_, other_current_;  ///< not pinned on a device
  int domains_ = 1;                                                ///< of each device
  std::uint64_t numa_nodes_ = 1;                                   ///< a bit each
  std::uint64_t next_ = 0xd000000000;
};

}  // namespace cuvmm::emulator
