// SPDX-License-Identifier: Apache-2.0
// The memory that is followed although the call that ends it names an object, and no range.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rulebook/order/uses.h"
#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

/// The memory of an object that is named by its handle, or its address, when it ends.
struct Watched {
  UsedRange memory;
  /// The call that made it. Work that a call of a lower number queued used another owner's memory,
  /// because the driver gives addresses out again.
  std::uint64_t since = 0;
  bool of_pool = false;  ///< cuMemFree does not wait for work that uses it
};

/// Thread-safe. Its lock is never held while another one is taken.
class WatchedMemory {
 public:
  /// `again`: the object may be known, with another birth, which stays.
  void add(std::uint64_t object, const Watched& memory, bool again);
  std::vector<Watched> of(std::uint64_t object);
  /// The call of this number ended it, and the driver has accepted that. An object that was made
  /// later stays, because it got the name meanwhile.
  void remove(std::uint64_t object, std::uint64_t ended_by);
  /// Whether memory of a pool that begins there is watched.
  bool holds_pool(std::uint64_t address);

  /// A node of another graph, whose launches nobody follows, frees memory that a graph leaves
  /// allocated: nothing is known of it from now on. False where the memory is a pool's, and stays.
  bool free_elsewhere(Address base);
  bool freed_elsewhere(Address base);
  /// Some of it may be memory that the launch of a graph left allocated.
  void note_left_behind();
  /// Where memory of graphs may be: the memory that ends there; of no size: none does.
  UsedRange ends_at(Address end);
  /// Whether, where memory of graphs may be, memory begins less than `distance` bytes behind.
  bool begins_behind(Address address, Size distance);

  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() CUVMM_RELEASES(mutex_) { mutex_.unlock(); }
  /// Only in a child of fork, which has one thread. Tables that are not whole are left behind.
  void restart(bool whole) CUVMM_UNCHECKED;

 private:
  OwnedMutex mutex_;
  std::unordered_multimap<std::uint64_t, Watched> objects_ CUVMM_GUARDED_BY(mutex_);
  std::unordered_set<Address> freed_elsewhere_ CUVMM_GUARDED_BY(mutex_);
  bool left_behind_ CUVMM_GUARDED_BY(mutex_) = false;
};

}  // namespace cuvmm::shim
