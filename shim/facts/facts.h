// SPDX-License-Identifier: Apache-2.0
// Looks up facts for one call by questions to the driver and the kernel. Only slow paths use it.
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

/// `driver` outlives the FactFinder. Thread-safe. Every answer may be "unknown". Changes nothing
/// that the program can see: the current context is as before; the caller restores errno.
class FactFinder {
 public:
  /// `emulated`: handles of the emulator are numbers, so an unreadable handle means nothing.
  FactFinder(const Driver& driver, bool emulated) : driver_(driver), emulated_(emulated) {}

  bool emulated() const { return emulated_; }

  /// The MINIMUM granularity for these properties in bytes; 0 if unknown. The answers are cached by
  /// all properties that they depend on.
  [[gnu::hot]] std::uint64_t granularity(const CUmemAllocationProp& prop);

  /// Finds the granularities of a multicast object with these properties; 0 if unknown. Called only
  /// for a cuMulticastCreate that is about to be forwarded.
  void find_multicast_granularity(const CUmulticastObjectProp& prop,
                                  Facts::Multicast& multicast) const;

  /// Finds the limits of a logical endpoint with these properties; called only for a
  /// cuLogicalEndpointCreate that is about to be forwarded.
  void find_endpoint_limits(const CUlogicalEndpointProp& prop, Facts::Endpoint& endpoint) const;

  /// Finds the properties of a sparse array that the program has just made. Returns false if the
  /// array is not sparse, or if the driver does not answer.
  bool find_tiles(const calls::Array3DCreate& call, CUDA_ARRAY_SPARSE_PROPERTIES& tiles) const;
  bool find_tiles(const calls::MipmappedArrayCreate& call,
                  CUDA_ARRAY_SPARSE_PROPERTIES& tiles) const;

  /// From here on tile_sizes() has answers.
  void want_tiles() { tiles_wanted_.store(true, std::memory_order_relaxed); }
  /// The bytes that each entry maps of a region, by the driver's sizes of the array's tiles; 0 for
  /// an unknown size; empty unless want_tiles() was called. Asks once for consecutive entries of
  /// one array, and only after the driver has accepted the call: so the arrays exist, and are
  /// sparse unless their mapping is deferred. The answers are not cached, because a cached answer
  /// could outlive its array.
  std::vector<std::uint64_t> tile_sizes(const calls::MemMapArrayAsync& call) const;

  /// Whether a handle that the model does not know is at least an address that can be read.
  Facts::Answer handle_readable(CUmemGenericAllocationHandle handle) const;

  /// Whether the host certainly cannot read the address: no memory of the process lies there.
  static bool unreadable(std::uint64_t address);
  /// Whether no page is mapped at an address of this process. Pages of a device, such as a driver's
  /// page-locked memory, are mapped, although unreadable() is true of them.
  static bool unmapped(std::uint64_t address);

  /// kNo for an import's descriptor that is not open, or of a kind that no driver exports.
  static Facts::Answer descriptor_valid(const void* os_handle, CUmemAllocationHandleType type);
  static Facts::Answer descriptor_valid(int fd);

  /// Finds the ordinal of the device whose access counts for work on `stream`, and whether there is
  /// a context: for single copies the current context's, if there is one, else the stream's
  /// (recorded on two H200s).
  void find_device(CUstream stream, bool copy, Facts::Place& place) const;

  /// The ordinal of a context's device, or Facts::kUnknownDevice.
  int device_of(CUcontext context) const;

  /// Whether a device's primary context is active, after the program has released a reference to
  /// it.
  Facts::Answer primary_context_active(CUdevice device) const;

  /// Finds the current context, if there is one, and its device.
  void find_context(Facts::Place& place) const;
  /// Finds the memory that holds an address, and whether a legacy IPC handle can name it.
  void find_memory(CUdeviceptr address, Facts::Ipc& ipc) const;
  /// Whether any memory is at an address, of any kind and device. find_memory() does not see memory
  /// of another device than the current context's.
  bool holds_memory(CUdeviceptr address) const;
  /// The device that holds the memory at an address; -1 if the driver does not say.
  int device_of_memory(CUdeviceptr address) const;
  /// Whether a device reaches pageable memory of the host; true if the driver does not say. For the
  /// nodes of graphs, because no call tells in which context a node copies.
  bool any_device_reaches_pageable() const;
  /// Finds the place and the size of imported memory of a pool.
  void find_pool_memory(CUdeviceptr address, Facts::Pool& pool) const;
  /// Finds the properties of an existing pool: since CUDA 13.2 its place, the kind of its memory
  /// and its handle types. An older driver does not answer. Called only for pools that the driver
  /// has just returned or imported, because a driver may read any other value as an address.
  void describe_pool(CUmemoryPool pool, Facts::Pool& facts) const;
  /// Finds whether a pool that the driver has just returned for a place is that place's default
  /// pool.
  void find_default(CUmemoryPool pool, const CUmemLocation& place, CUmemAllocationType type,
                    Facts::Pool& facts) const;
  /// Finds whether a pool that the model does not know is a device's default pool.
  void find_pool(CUmemoryPool pool, Facts::Pool& facts) const;

  /// Finds facts of memory that was just imported: its properties and their granularity. `memory`
  /// becomes false if the driver refuses to describe it: then it is a multicast object.
  ImportedMemory describe_import(CUmemGenericAllocationHandle handle, bool& memory);

  /// Fills device_count, reach, handle_types, numa_nodes, host_page, and the abilities of the
  /// devices. Returns the driver's answer: NOT_INITIALIZED before cuInit, and then it fills
  /// nothing.
  CUresult learn(Platform& platform) const;

  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() CUVMM_RELEASES(mutex_) { mutex_.unlock(); }

 private:
  /// The properties that a granularity depends on.
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
  OwnedMutex mutex_;  ///< held by a thread that adds to the cache; entries never change, and are
                      ///< read without the lock
  std::array<CachedGranularity, kMaxCached> granularities_{};
  std::atomic<std::size_t> cached_{0};
};

}  // namespace cuvmm::shim
