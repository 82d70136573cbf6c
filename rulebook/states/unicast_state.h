// SPDX-License-Identifier: Apache-2.0
// Reservations, allocations and mappings, and how calls change them.
//
// No I/O, no locks. Each verb belongs to one moment of a call:
//   begin    before the call goes to the driver: takes out the objects that the call gives up, so
//            that the model never confuses them with new objects if the driver gives their names
//            out again at once; records the objects whose names the program chose.
//   confirm  the driver accepted the call: records the new objects; reads the out-parameters.
//   undo     the driver refused the call: restores the state from before begin().
// A call that has nothing to do in a moment has no overload. The calls of a block's life are as
// cheap as possible, so the objects that these calls give up become history in begin() already.
#pragma once

#include <map>
#include <unordered_map>

#include "api/calls.h"
#include "rulebook/base/platform.h"
#include "rulebook/containers/last_found.h"
#include "rulebook/containers/last_place.h"
#include "rulebook/containers/spare_nodes.h"
#include "rulebook/objects/change.h"
#include "rulebook/objects/objects.h"
#include "rulebook/objects/tombstones.h"

namespace cuvmm {

class UnicastState {
 public:
  // --- Queries
  const std::map<Address, Reservation>& reservations() const { return reservations_; }
  const std::map<Address, Mapping>& mappings() const { return mappings_; }
  const std::unordered_map<Handle, Allocation>& allocations() const { return allocations_; }

  /// The reservation that holds `address`, or null.
  const Reservation* reservation_at(Address address) const {
    const auto it = last_reservation_.first_after(reservations_, address);
    return it != reservations_.end() && it->second.base <= address ? &it->second : nullptr;
  }
  /// The mapping that holds `address`, or null.
  const Mapping* mapping_at(Address address) const {
    const auto it = first_mapping_after(address);
    return it != mappings_.end() && it->second.base <= address ? &it->second : nullptr;
  }
  /// The first mapping that ends after `address`, as an iterator of mappings().
  std::map<Address, Mapping>::const_iterator first_mapping_after(Address address) const {
    return last_mapping_.first_after(mappings_, address);
  }
  bool holds_mapping(const Reservation& r) const;
  const Allocation* allocation(Handle handle) const {
    const Allocation* last = last_allocation_.get();
    return last && last->handle == handle ? last : search(handle);
  }

  // --- Before the call goes to the driver
  [[gnu::hot]] void begin(const calls::MemRelease& call, Origin at, Tombstones& history,
                          Retired& retired);
  [[gnu::hot]] void begin(const calls::MemUnmap& call, Origin at, Tombstones& history,
                          Retired& retired);
  [[gnu::hot]] void begin(const calls::MemAddressFree& call, Origin at, Tombstones& history,
                          Retired& retired);
  [[gnu::hot]] void begin(const calls::MemMap& call, Origin at, Tombstones& history,
                          Recorded& recorded);
  [[gnu::hot]] void begin(const calls::MemSetAccess& call, Origin at, Tombstones& history,
                          Recorded& recorded);

  // --- After the driver accepted the call
  [[gnu::hot]] void confirm(const calls::MemAddressReserve& call, const Facts& facts, Origin at,
                            Tombstones& history);
  [[gnu::hot]] void confirm(const calls::MemCreate& call, const Facts& facts, Origin at,
                            Tombstones& history);
  void confirm(const calls::MemImportFromShareableHandle& call, const Facts& facts, Origin at,
               Tombstones& history);
  [[gnu::hot]] void confirm(const calls::MemRetainAllocationHandle& call, const Facts& facts,
                            Origin at, Tombstones& history);
  /// A multicast object is a handle like any other.
  void confirm(const calls::MulticastCreate& call, const Facts& facts, Origin at,
               Tombstones& history);
  /// A call about multicast accepted the handle, so it is the handle of a multicast object.
  void mark_multicast(Handle handle);
  /// For a call that begin() did not record.
  void confirm(const calls::MemMap& call, const Facts& facts, Origin at, Tombstones& history);
  void confirm(const calls::MemSetAccess& call, const Facts& facts, Origin at, Tombstones& history);

  // --- After the driver refused the call
  [[gnu::cold]] void undo(Retired& retired, Origin at, Tombstones& history);
  [[gnu::cold]] void undo(const calls::MemMap& call, Origin at, Tombstones& history,
                          const Recorded& recorded);
  [[gnu::cold]] void undo(const calls::MemSetAccess& call, Origin at, Tombstones& history,
                          const Recorded& recorded);
  /// The program has given the reservation up, although the driver refused the free.
  [[gnu::cold]] void note_refused(const calls::MemAddressFree& call, Origin at);

  /// Puts in an object that another view of this process knew; each is new here.
  void restore(const Reservation& known) { reservations_.insert_or_assign(known.base, known); }
  void restore(const Mapping& known) { mappings_.insert_or_assign(known.base, known); }
  void restore(const Allocation& known) { allocations_.insert_or_assign(known.handle, known); }

  void clear();
  /// The invariants, for assertions in small states: ranges of a kind are disjoint, each is found
  /// by its base, every object that is present is held by something, and no allocation counts a
  /// mapping that does not exist.
  bool consistent() const;

 private:
  // Subtracts one from `count` of the allocation. Saves the state from before in `retired`, and
  // ends the allocation if that was its last reference or mapping.
  [[gnu::hot]] void lose(Allocation& a, std::uint32_t Allocation::*count, Origin Allocation::*when,
                         Origin at, Tombstones& history, Retired& retired);
  // Ends an allocation that has neither references nor mappings.
  [[gnu::hot]] void end_allocation(Handle handle);
  // Makes the mapping of a map call, and takes out any mapping that was there.
  [[gnu::hot]] void put(const calls::MemMap& call, Origin at, Tombstones& history);
  // The mappings there ended by a route that cuvmm did not see. Takes them out, and the allocations
  // that only they held.
  [[gnu::cold, gnu::noinline]] void forget_mappings(Address base, Size size, Tombstones& history);
  bool counts_mappings() const;
  // The reservation that holds the address, for changes.
  Reservation* own_reservation(Address address) {
    return const_cast<Reservation*>(reservation_at(address));
  }
  [[gnu::hot]] const Allocation* search(Handle handle) const;
  Allocation* own(Handle handle) { return const_cast<Allocation*>(allocation(handle)); }

  // The members that the seven calls of a block's life read lie side by side, because a driver call
  // leaves the caches cold. The first three remember where const searches ended, so a reader needs
  // the owner's lock as a writer does.
  mutable LastPlace<std::map<Address, Mapping>> last_mapping_;
  mutable LastPlace<std::map<Address, Reservation>> last_reservation_;
  mutable LastFound<Allocation> last_allocation_;
  std::map<Address, Mapping> mappings_;
  std::map<Address, Reservation> reservations_;
  std::unordered_map<Handle, Allocation> allocations_;
  SpareNodes<std::map<Address, Mapping>> spare_mappings_;
  SpareNodes<std::map<Address, Reservation>> spare_reservations_;
  SpareNodes<std::unordered_map<Handle, Allocation>> spare_allocations_;
};

}  // namespace cuvmm
