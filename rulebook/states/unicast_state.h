// SPDX-License-Identifier: Apache-2.0
// Reservations, allocations and mappings, and how calls change them.
//
// No I/O, no locks. Each verb is for one kind of moment:
//   begin    before the driver is asked: takes what the call gives up, so that a name the driver
//            gives out again at once is never confused; records what it makes under a name that the
//            program chose.
//   confirm  the driver accepted: records what it made; reads its out-parameters.
//   undo     the driver refused: all is as it was.
// Calls that have nothing to do in a moment have no overload. The calls of a block's life are as
// cheap as they can be, so what they give up becomes history at begin() already.
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
  [[gnu::hot]] const Reservation* reservation_at(Address address) const;
  /// The mapping that holds `address`, or null.
  [[gnu::hot]] const Mapping* mapping_at(Address address) const;
  /// The first mapping that ends after `address`, as an iterator of mappings().
  [[gnu::hot]] std::map<Address, Mapping>::const_iterator first_mapping_after(
      Address address) const;
  bool holds_mapping(const Reservation& r) const;
  const Allocation* allocation(Handle handle) const {
    const Allocation* last = last_allocation_.get();
    return last && last->handle == handle ? last : search(handle);
  }

  // --- Before the driver is asked
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

  // --- The driver accepted
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
  /// A call about multicast accepted the handle, so it is one of such an object.
  void mark_multicast(Handle handle);
  /// Of a call that begin() did not record.
  void confirm(const calls::MemMap& call, const Facts& facts, Origin at, Tombstones& history);
  void confirm(const calls::MemSetAccess& call, const Facts& facts, Origin at, Tombstones& history);

  // --- The driver refused
  [[gnu::cold]] void undo(Retired& retired, Origin at, Tombstones& history);
  [[gnu::cold]] void undo(const calls::MemMap& call, Origin at, Tombstones& history,
                          const Recorded& recorded);
  [[gnu::cold]] void undo(const calls::MemSetAccess& call, Origin at, Tombstones& history,
                          const Recorded& recorded);
  /// The program has given the reservation up, whatever the driver says.
  [[gnu::cold]] void note_refused(const calls::MemAddressFree& call, Origin at);

  /// Objects as somebody else knew them; each is new here.
  void restore(const Reservation& known) { reservations_.insert_or_assign(known.base, known); }
  void restore(const Mapping& known) { mappings_.insert_or_assign(known.base, known); }
  void restore(const Allocation& known) { allocations_.insert_or_assign(known.handle, known); }

  void clear();
  /// The invariants of a small state: ranges of a kind are disjoint, each is found by its base,
  /// what nothing keeps is not there, and no allocation counts a mapping that is not. For
  /// assertions.
  bool consistent() const;

 private:
  // One reference or mapping of it less: `before` in its count, and its end if that was the last.
  [[gnu::hot]] void lose(Allocation& a, std::uint32_t Allocation::*count, Origin Allocation::*when,
                         Origin at, Tombstones& history, Retired& retired);
  // The allocation has neither references nor mappings any more.
  [[gnu::hot]] void end_allocation(Handle handle);
  // Makes the mapping of a map, whatever was there before.
  [[gnu::hot]] void put(const calls::MemMap& call, Origin at, Tombstones& history);
  // What is mapped there ended by a route that nobody saw, and with it what it kept alone.
  [[gnu::cold, gnu::noinline]] void forget_mappings(Address base, Size size, Tombstones& history);
  bool counts_mappings() const;
  // The reservation that holds the address, to write.
  Reservation* own_reservation(Address address);
  [[gnu::hot]] const Allocation* search(Handle handle) const;
  Allocation* own(Handle handle) { return const_cast<Allocation*>(allocation(handle)); }

  // What the seven calls of a block's life look at lies together: a driver call leaves cold caches.
  // The first three remember where const searches ended: readers need the owner's lock as writers
  // do.
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
