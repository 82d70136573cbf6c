// SPDX-License-Identifier: Apache-2.0
// The memory that cuvmm follows although the call that ends it names an object, and no range.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rulebook/order/uses.h"
#include "shim/queued_work/held_across_fork.h"

namespace cuvmm::shim {

/// The memory of an object that the ending call names by its handle or its address.
struct Watched {
  UsedRange memory;
  /// The number of the call that made the memory. Work from a call of a lower number used another
  /// owner's memory, because the driver gives addresses out again.
  std::uint64_t since = 0;
  bool of_pool = false;  ///< cuMemFree does not wait for work that uses the memory
};

/// Thread-safe. A thread never takes another lock while it holds the lock of this class.
class WatchedMemory : public HeldAcrossFork {
 public:
  /// `again`: the object may be known already, with another birth; then the known birth stays.
  void add(std::uint64_t object, const Watched& memory, bool again);
  std::vector<Watched> of(std::uint64_t object);
  /// The call of this number ended the object, and the driver has accepted the call. An object that
  /// was made later stays, because the driver gave it the same name meanwhile.
  void remove(std::uint64_t object, std::uint64_t ended_by);
  /// Whether memory of a pool that begins at the address is watched.
  bool holds_pool(std::uint64_t address);

  /// A node of another graph frees memory that a graph leaves allocated; cuvmm does not follow the
  /// launches of that graph, and forgets the memory. Returns false if the memory is a pool's, which
  /// stays watched.
  bool free_elsewhere(Address base);
  bool freed_elsewhere(Address base);
  /// Notes that the launch of a graph may have left some of the memory allocated.
  void note_left_behind();
  /// The memory that ends at the address, if the launch of a graph left memory allocated; size 0:
  /// no memory ends there.
  UsedRange ends_at(Address end);
  /// Whether watched memory begins less than `distance` bytes behind the address, if the launch of
  /// a graph left memory allocated.
  bool begins_behind(Address address, Size distance);

  void restart(bool whole) CUVMM_UNCHECKED;

 private:
  std::unordered_multimap<std::uint64_t, Watched> objects_ CUVMM_GUARDED_BY(mutex_);
  std::unordered_set<Address> freed_elsewhere_ CUVMM_GUARDED_BY(mutex_);
  bool left_behind_ CUVMM_GUARDED_BY(mutex_) = false;
};

}  // namespace cuvmm::shim
