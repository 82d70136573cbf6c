// SPDX-License-Identifier: Apache-2.0
// The changes that Model::begin() made for one call before the driver answered. Model::confirm()
// keeps them, or Model::undo() takes them back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rulebook/containers/short_list.h"
#include "rulebook/objects/array_objects.h"
#include "rulebook/objects/endpoint_objects.h"
#include "rulebook/objects/external_objects.h"
#include "rulebook/objects/ipc_objects.h"
#include "rulebook/objects/memory_objects.h"
#include "rulebook/objects/multicast_objects.h"
#include "rulebook/objects/objects.h"
#include "rulebook/objects/pool_objects.h"
#include "rulebook/objects/tile_objects.h"

namespace cuvmm {

/// The objects that a call that ends a context takes out of the model. Only plain memory leaves
/// tombstones, because the documentation mostly does not say what happens to the other objects.
/// They are unknown from then on, and no check calls a use of them wrong.
struct EndedContext {
  bool ending = false;  ///< such a call is under way
  int device = -1;      ///< the device whose primary context it is; -1: none
  bool any = false;     ///< it is not known which context ends
  std::vector<IpcExport> ipc_exports;
  std::vector<IpcOpen> ipc_opens;
  std::vector<Pool> pools;
  std::vector<PoolMemory> pool_memory;
  std::vector<std::pair<PoolPlace, std::uint64_t>> current_pools;  ///< of the device
  /// Pool::access of the device's default pool.
  std::optional<std::uint64_t> default_access;
  /// Pool::access of the device's pools: handle and mask.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> accesses;
  std::vector<ExternalMemory> memories;
  std::vector<ExternalBuffer> buffers;
  std::vector<ExternalSemaphore> semaphores;
  std::vector<PlainMemory> memory;
  std::vector<ArrayObject> arrays;
};

/// The objects that few calls end.
struct RarelyRetired {
  RetiredMulticast multicast;
  RetiredEndpoints endpoints;
  ShortList<IpcExport> ipc_exports;  ///< of memory that was freed
  ShortList<IpcOpen> ipc_opens;      ///< each had one open closed
  ShortList<Pool> pools;
  ShortList<PoolMemory> pool_memory;
  ShortList<PlainMemory> memory;
  std::vector<ArrayObject> arrays;  ///< the array that is being destroyed, and its levels
  std::vector<TileRegion> tiles;    ///< of arrays that are being destroyed, or end with a context
  std::uint64_t stream = 0;         ///< the stream that is being destroyed
  ExternalRetired external;
  EndedContext context;
};

/// The objects that a call gave up.
struct Retired {
  ShortList<Reservation> reservations;
  ShortList<Mapping> mappings;
  ShortList<Allocation> allocations;  ///< as they were before, for undo()
  bool begun = false;                 ///< begin() has run
  bool released = false;              ///< the call dropped a reference of allocations[0]
  struct Drop {
    [[gnu::cold, gnu::noinline]] void operator()(RarelyRetired* rare) const { delete rare; }
  };
  /// Null for nearly every call: a Retired must be cheap, because each call makes and destroys one.
  std::unique_ptr<RarelyRetired, Drop> rare;

  RarelyRetired& more() {
    if (!rare) rare.reset(new RarelyRetired);
    return *rare;
  }

  /// Whether some object here was made after the call `at` began.
  [[gnu::cold]] bool newer_than(Origin at) const {
    const auto is_newer = [&](const auto& object) { return object.made.call > at.call; };
    const auto any = [&](const auto& objects) {
      return std::any_of(objects.begin(), objects.end(), is_newer);
    };
    if (any(reservations) || any(mappings) || any(allocations)) return true;
    if (!rare) return false;
    const auto newer_tiles = [&](const TileRegion& region) { return is_newer(region.second); };
    if (std::any_of(rare->tiles.begin(), rare->tiles.end(), newer_tiles)) return true;
    const ExternalRetired& external = rare->external;
    return any(rare->endpoints.ids) || any(rare->endpoints.endpoints) ||
           any(rare->endpoints.bindings) || any(rare->ipc_exports) || any(rare->ipc_opens) ||
           any(rare->pools) || any(rare->pool_memory) || any(rare->memory) || any(rare->arrays) ||
           (external.memory && is_newer(*external.memory)) ||
           (external.buffer && is_newer(*external.buffer)) ||
           (external.semaphore && is_newer(*external.semaphore));
  }
};

/// The change of a call whose object has a name that the program chose: begin() records the object.
struct Recorded {
  bool done = false;
  AccessMask access;  ///< of the one mapping, before the call
};

/// The change of a call whose effect is known only after its success.
struct NoChange {};

}  // namespace cuvmm
