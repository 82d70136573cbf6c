// SPDX-License-Identifier: Apache-2.0
// What the shim looks up for one call, by asking the driver and the kernel. Slow paths only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "api/driver/driver.h"
#include "rulebook/base/platform.h"
#include "rulebook/model/model.h"
#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

/// Asks `driver`, which outlives it. Thread-safe. Every answer may be "unknown". Changes nothing
/// that the program can see: the current context is as before, errno is the caller's to keep.
class FactFinder {
 public:
  /// `emulated`: handles of the emulator are numbers, so that they cannot be read means nothing.
  FactFinder(const Driver& driver, bool emulated) : driver_(driver), emulated_(emulated) {}

  /// MINIMUM granularity for these properties in bytes; 0 unknown. Cached by what it depends on.
  [[gnu::hot]] std::uint64_t granularity(const CUmemAllocationProp& prop);

  /// The granularities of a multicast object with these properties; 0 unknown. Asked
  /// only for a cuMulticastCreate that is about to be forwarded.
  void find_multicast_granularity(const CUmulticastObjectProp& prop,
                                  Facts::Multicast& multicast) const;

  /// What a logical endpoint with these properties may be; asked only for a cuLogicalEndpointCreate
  /// that is about to be forwarded.
  void find_endpoint_limits(const CUlogicalEndpointProp& prop, Facts::Endpoint& endpoint) const;

  /// What the driver tells of a sparse array that was just made. False: it is not sparse, or
  /// nothing is told.
  bool find_tiles(const calls::Array3DCreate& call, CUDA_ARRAY_SPARSE_PROPERTIES& told) const;
  bool find_tiles(const calls::MipmappedArrayCreate& call,
                  CUDA_ARRAY_SPARSE_PROPERTIES& told) const;

  /// What follows is asked for at all.
  void want_tiles() { tiles_wanted_.store(true, std::memory_order_relaxed); }
  /// The bytes that each entry shows: of a region, as the driver says how large the array's tiles
  /// are. 0 unknown; empty where nobody wants them. Asked once for entries of one array that follow
  /// each other, and only when the driver has taken them: so the arrays exist, and are sparse but
  /// where their mapping is deferred. An answer is not kept, as it could outlive its array.
  std::vector<std::uint64_t> tile_sizes(const calls::MemMapArrayAsync& call) const;

  /// Whether a handle that the model does not know is at least an address that can be read.
  Facts::Answer handle_readable(CUmemGenericAllocationHandle handle) const;

  /// Whether the host certainly cannot read there: no memory of the program's own has the address.
  static bool unreadable(std::uint64_t address);

  /// kNo for an import's descriptor that is not open, or of a kind that no driver exports.
  static Facts::Answer descriptor_valid(const void* os_handle, CUmemAllocationHandleType type);
  static Facts::Answer descriptor_valid(int fd);

  /// Ordinal of the device whose access counts for work on `stream`, and whether there is a
  /// context: the current context's for single copies, if there is one, else the stream's
  /// (recorded on two H200s).
  void find_device(CUstream stream, bool copy, Facts::Place& place) const;

  /// Ordinal of a context's device, or Facts::kUnknownDevice.
  int device_of(CUcontext context) const;

  /// Whether a device's primary context is active, now that a reference to it was released.
  Facts::Answer primary_context_active(CUdevice device) const;

  /// Whether there is a current context, which one, and its device.
  void find_context(Facts::Place& place) const;
  /// What memory holds an address, and whether a legacy IPC handle can name it.
  void find_memory(CUdeviceptr address, Facts::Ipc& ipc) const;
  /// Whether some memory is at an address, of whatever kind and device. find_memory() does not see
  /// that of another device than the current context's.
  bool holds_memory(CUdeviceptr address) const;
  /// Where imported memory of a pool lies, and its size.
  void find_pool_memory(CUdeviceptr address, Facts::Pool& pool) const;
  /// What the driver says of a pool that exists: since CUDA 13.2 where it lies, what it holds and
  /// how it can be exported. An older driver says nothing. Only for pools that the driver has just
  /// handed out or imported: of any other value it may read as an address.
  void describe_pool(CUmemoryPool pool, Facts::Pool& facts) const;
  /// Whether a pool that the driver has just handed out for a place is that place's default one.
  void find_default(CUmemoryPool pool, const CUmemLocation& place, CUmemAllocationType type,
                    Facts::Pool& facts) const;
  /// Whether a pool that the model does not know is a device's default one.
  void find_pool(CUmemoryPool pool, Facts::Pool& facts) const;

  /// What can be learned of memory just imported: its properties and their granularity. `memory` is
  /// false where the driver refuses to describe it: it is a multicast object.
  ImportedMemory describe_import(CUmemGenericAllocationHandle handle, bool& memory);

  /// Fills device_count, reach, handle_types, numa_nodes, host_page, and what devices can do. What
  /// the driver answered: NOT_INITIALIZED before cuInit, and then nothing is filled.
  CUresult learn(Platform& platform) const;

  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() CUVMM_RELEASES(mutex_) { mutex_.unlock(); }

 private:
  /// All that a granularity depends on.
  struct Kind {
    CUmemAllocationType type;
    CUmemAllocationHandleType handle_types;
    CUmemLocationType location;
    int id;
    unsigned char compression, rdma;
    bool operator==(const Kind&) const = default;
  };
  struct CachedGranularity {
    Kind kind;
    std::uint64_t bytes;
  };
  static constexpr std::size_t kMaxCached = 64;  // kinds of properties; a program has a handful

  const Driver& driver_;
  bool emulated_;
  std::atomic<bool> tiles_wanted_{false};
  OwnedMutex mutex_;  ///< of whoever adds to the cache; what is in it stays, and is read without
  std::array<CachedGranularity, kMaxCached> granularities_{};
  std::atomic<std::size_t> cached_{0};
};

}  // namespace cuvmm::shim
