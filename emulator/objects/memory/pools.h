// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools. A pool counts memory from the call that allocates it until the free
// is done, which is at once unless streams are late.
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

/// One pool. Its properties never change; its contents change only with its memory.
class Pool {
 public:
  static constexpr int kManaged = kManagedMemory;
  static constexpr int kReuses = 3;  ///< event dependencies, opportunistic, internal dependencies

  /// Where its memory lies, and which handle types it can be exported as.
  const CUmemAllocationProp& prop() const { return prop_; }
  std::uint64_t handle() const { return handle_; }
  bool is_default() const { return kind_ == Kind::kDefault; }
  bool imported() const { return kind_ == Kind::kImported; }
  /// Whether its memory is managed; prop().location is then only its preferred location (type 0: no
  /// preference).
  bool managed() const { return static_cast<int>(prop_.type) == kManaged; }
  bool on_device() const { return !managed() && is_device(prop_.location); }

  /// The id that every process that has the pool uses; 0 until it is exported.
  std::uint64_t id() const { return id_; }
  /// The file that an export gives out, or null.
  Physical* file() const { return file_.get(); }
  /// The pool's first export: the file contains the id.
  void publish(std::uint64_t id, std::shared_ptr<Physical> file);

  /// Bytes that the pool may hold; 0: unlimited.
  std::uint64_t max_size() const { return max_size_; }
  /// Whether the pool was created for the decompression engine.
  bool decompressed_into() const { return (prop_.allocFlags.usage & kUsageHwDecompress) != 0; }
  /// Whether `bytes` more bytes fit under its largest size.
  bool fits(std::uint64_t bytes) const;
  /// The value of the pool's attribute: bytes, without those that cuMemFreeAsync freed; recorded
  /// drivers continue to count the bytes that cuMemFree freed.
  std::uint64_t used() const { return used_; }
  std::uint64_t used_high() const { return used_high_; }
  /// Bytes of the device, in whole chunks.
  std::uint64_t reserved() const { return reserved_; }
  std::uint64_t reserved_high() const { return reserved_high_; }
  /// Sets the high-water mark to the present value.
  void reset_used_high() { used_high_ = used_; }
  void reset_reserved_high() { reserved_high_ = reserved_; }
  /// Gives back reserved chunks that no allocation needs, down to `keep` bytes.
  void trim(std::uint64_t keep);
  std::uint64_t release_threshold() const { return release_threshold_; }
  void set_release_threshold(std::uint64_t bytes);

  /// The attributes that allow freed memory to be reused: the pool stores and returns them, without
  /// effect.
  bool reuse(int which) const { return reuse_[which]; }
  void set_reuse(int which, bool on) { reuse_[which] = on; }

  /// The access that the program set for a device; nothing where it never set one.
  std::optional<unsigned> access(int device) const;
  void set_access(int device, unsigned flags);

 private:
  friend class Pools;  // makes pools, and knows when a pool is done
  enum class Kind : std::uint8_t { kCreated, kDefault, kImported };

  Pool(std::uint64_t handle, const CUmemAllocationProp& prop, Kind kind);
  void take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes, bool by_pool);
  /// Whether the pool has, or will have, reserved memory without allocations. Its threshold may
  /// have become lower meanwhile.
  bool keeps() const;
  /// Bytes of the device that an allocation of `bytes` bytes costs.
  std::uint64_t growth(std::uint64_t bytes) const;
  /// Updates the bytes that the pool counts on its device.
  void charge();
  /// Whether the pool was destroyed and its last memory freed.
  bool done() const { return destroyed_ && live_ == 0; }

  std::uint64_t handle_;
  CUmemAllocationProp prop_;
  Kind kind_;
  /// The program called cuMemPoolDestroy; the object lasts until its last memory is freed.
  bool destroyed_ = false;
  std::uint64_t max_size_ = 0;  ///< bytes; 0: unlimited
  std::uint64_t id_ = 0;
  std::shared_ptr<Physical> file_;
  std::uint64_t live_ = 0;  ///< bytes that are allocated
  std::uint64_t used_ = 0, used_high_ = 0;
  std::uint64_t reserved_ = 0, reserved_high_ = 0;
  Devices* devices_ = nullptr;  ///< where the pool counts its bytes; null: nowhere
  std::uint64_t charged_ = 0;   ///< bytes
  std::uint64_t release_threshold_ = 0;
  bool reuse_[kReuses] = {true, true, true};
  std::map<int, unsigned> access_;  ///< of devices other than its own
};

/// The pools of this process; the caller holds the emulator's lock.
class Pools {
 public:
  /// Makes a default pool for each device, which is current at first. Each device has `domains`
  /// locality domains; `numa_nodes` has a bit for each NUMA node.
  void open(Devices& devices, int domains, std::uint64_t numa_nodes);
  /// `max_size` in bytes; 0: unlimited.
  Pool& create(const CUmemAllocationProp& prop, std::uint64_t max_size);
  /// A pool of another process, by the id in its descriptor.
  Pool& adopt(const CUmemAllocationProp& prop, std::uint64_t id);
  /// A live pool, not destroyed; null for any other handle.
  Pool* find(CUmemoryPool pool);
  const Pool* find(CUmemoryPool pool) const { return const_cast<Pools*>(this)->find(pool); }
  /// The properties of a destroyed pool; null for any other handle.
  const CUmemAllocationProp* destroyed(CUmemoryPool pool) const;
  /// Whether a destroyed pool lay on this device.
  bool lay_on(CUmemoryPool pool, int device) const;
  Pool& default_of(int device) { return pools_.at(defaults_[static_cast<std::size_t>(device)]); }
  Pool& current_of(int device) { return pools_.at(current_[static_cast<std::size_t>(device)]); }
  const Pool& current_of(int device) const {
    return pools_.at(current_[static_cast<std::size_t>(device)]);
  }
  /// As default_of and current_of, for any location and type of memory; the pools of the host and
  /// of managed memory are made at the first call for them. Null where the location does not exist.
  Pool* default_at(const CUmemLocation& location, CUmemAllocationType type);
  Pool* current_at(const CUmemLocation& location, CUmemAllocationType type);
  /// Whether the current pool of a place that exists is its default pool.
  bool is_at_default(const CUmemLocation& location, CUmemAllocationType type) const;
  /// Whether a device can use memory of this host pool.
  bool reaches(std::uint64_t pool, int device) const;
  /// `location` is the pool's location.
  void set_current_at(const CUmemLocation& location, const Pool& pool);
  /// Whether pools of managed memory can prefer this location.
  bool managed_place(const CUmemLocation& location) const {
    return place_of(location, static_cast<CUmemAllocationType>(Pool::kManaged)).has_value();
  }
  void set_current(int device, const Pool& pool) {
    current_[static_cast<std::size_t>(device)] = pool.handle();
  }
  /// The pool's devices return to their default pools; the object lasts until its last memory is
  /// freed.
  void destroy(Pool& pool);
  void took(std::uint64_t pool, std::uint64_t bytes);
  /// Bytes of its device that the pool will take for `bytes` more bytes; nothing where it counts on
  /// no device, as an imported pool or a pool on the host.
  std::optional<std::uint64_t> growth(std::uint64_t pool, std::uint64_t bytes) const;
  /// Memory of a pool was freed: with `by_pool` by cuMemFreeAsync; does nothing where `pool` is 0.
  void freed(std::uint64_t pool, std::uint64_t bytes, bool by_pool);

  static CUmemoryPool handle_of(const Pool& pool) {
    return reinterpret_cast<CUmemoryPool>(pool.handle());
  }

 private:
  /// The type of memory, a location's type and its id; an id without a meaning is 0.
  using Place = std::tuple<int, int, int>;
  /// The place for the tables of pools; nothing where no pool of this type of memory can lie.
  std::optional<Place> place_of(const CUmemLocation& location, CUmemAllocationType type) const;
  Pool& add(const CUmemAllocationProp& prop, Pool::Kind kind);
  void drop_if_done(std::uint64_t handle);

  Devices* devices_ = nullptr;
  std::unordered_map<std::uint64_t, Pool> pools_;
  std::unordered_map<std::uint64_t, CUmemAllocationProp>
      destroyed_properties_;                       ///< destroyed pools, by handle
  std::vector<std::uint64_t> defaults_, current_;  ///< by device
  /// The pools of places other than pinned memory on a device.
  std::map<Place, std::uint64_t> other_defaults_, other_current_;
  int domains_ = 1;               ///< of each device
  std::uint64_t numa_nodes_ = 1;  ///< a bit for each NUMA node
  std::uint64_t next_ = 0xd000000000;
};

}  // namespace cuvmm::emulator
