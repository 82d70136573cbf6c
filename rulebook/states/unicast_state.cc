// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/unicast_state.h"

#include <algorithm>
#include <utility>

#include "api/location.h"

namespace cuvmm {

namespace {

ObjectRef ended_object(const Reservation& r, Origin at) {
  return {ObjectRef::Kind::kReservation, r.base, r.size, r.made, at};
}
ObjectRef ended_object(const Mapping& m, Origin at) {
  return {ObjectRef::Kind::kMapping, m.base, m.size, m.made, at};
}
ObjectRef ended_object(const Allocation& a, Origin at) {
  return {ObjectRef::Kind::kAllocation, a.handle, a.size, a.made, at};
}

// Whether neither references nor mappings hold the allocation.
bool ended(const Allocation& a) { return a.references == 0 && a.mappings == 0; }

std::uint64_t location_bit(const CUmemLocation& location) {
  const int device = device_of(location);
  if (device < 0 && !is_device(location)) return AccessMask::kHostBit;
  return device >= 0 && device < 62 ? std::uint64_t{1} << device : 0;
}

[[gnu::hot]] void grant(const calls::MemSetAccess& call, AccessMask& access) {
  for (std::size_t i = 0; i < call.count; ++i) {
    const std::uint64_t bit = location_bit(call.desc[i].location);
    const unsigned flags = static_cast<unsigned>(call.desc[i].flags);
    const AccessMask before = access;
    access.read = (flags & CU_MEM_ACCESS_FLAGS_PROT_READ) ? access.read | bit : access.read & ~bit;
    access.write =
        flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? access.write | bit : access.write & ~bit;
    if (access.read == before.read && access.write == before.write) continue;
    if (bit == 1) access.read |= AccessMask::kDeviceLastBit;
    if (bit == AccessMask::kHostBit) access.read &= ~AccessMask::kDeviceLastBit;
  }
}

}  // namespace

// --- Queries

const Allocation* UnicastState::search(Handle handle) const {
  auto it = allocations_.find(handle);
  return it == allocations_.end() ? nullptr : last_allocation_.set(&it->second);
}

bool UnicastState::holds_mapping(const Reservation& r) const {
  const auto mapped = first_mapping_after(r.base);
  return mapped != mappings_.end() &&
         overlap(mapped->second.base, mapped->second.size, r.base, r.size);
}

// --- Before the call goes to the driver

void UnicastState::end_allocation(Handle handle) {
  last_allocation_.forget();
  spare_allocations_.erase_key(allocations_, handle);
}

void UnicastState::lose(Allocation& a, std::uint32_t Allocation::*count, Origin Allocation::*when,
                        Origin at, Tombstones& history, Retired& retired) {
  retired.allocations.push_back(a);
  --(a.*count);
  if (!ended(a)) {
    a.*when = at;
    return;
  }
  if (a.creation_seen) history.add(ended_object(a, at));
  end_allocation(a.handle);
}

void UnicastState::begin(const calls::MemRelease& call, Origin at, Tombstones& history,
                         Retired& retired) {
  Allocation* const a = own(call.handle);
  if (!a || a->references == 0) return;
  retired.released = true;
  lose(*a, &Allocation::references, &Allocation::released, at, history, retired);
}

void UnicastState::begin(const calls::MemUnmap& call, Origin at, Tombstones& history,
                         Retired& retired) {
  const auto first = first_mapping_after(call.ptr);
  std::size_t count = 0;
  for (auto it = first;
       it != mappings_.end() && overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    const Mapping& m = it->second;
    const bool whole = m.base >= call.ptr && m.size <= call.size - (m.base - call.ptr);
    // If the range cuts a mapping, a driver refuses the whole call, so the call gives nothing up.
    if (!whole) [[unlikely]]
      return;
    ++count;
    if (reaches_end(m.base, m.size, call.ptr, call.size)) break;
  }
  for (auto it = first; count != 0; --count) {
    retired.mappings.push_back(it->second);
    history.add(ended_object(it->second, at));
    if (Reservation* const r = own_reservation(it->second.base)) r->unmapped = at;
    Allocation* const a = own(it->second.handle);
    if (a && a->mappings != 0) {
      lose(*a, &Allocation::mappings, &Allocation::unmapped, at, history, retired);
    }
    it = spare_mappings_.erase(mappings_, it);
    last_mapping_.rest_at(it);
  }
}

void UnicastState::begin(const calls::MemAddressFree& call, Origin at, Tombstones& history,
                         Retired& retired) {
  const auto it = last_reservation_.first_after(reservations_, call.ptr);
  if (it == reservations_.end() || it->second.base != call.ptr || it->second.size != call.size) {
    return;
  }
  retired.reservations.push_back(it->second);
  history.add(ended_object(it->second, at));
  last_reservation_.rest_at(spare_reservations_.erase(reservations_, it));
}

void UnicastState::forget_mappings(Address base, Size size, Tombstones& history) {
  auto it = first_mapping_after(base);
  while (it != mappings_.end() && overlap(it->second.base, it->second.size, base, size)) {
    const Handle handle = it->second.handle;
    it = mappings_.erase(it);
    Allocation* const a = own(handle);
    if (!a || a->mappings == 0) continue;
    --a->mappings;
    if (!ended(*a)) continue;
    const ObjectRef last = ended_object(*a, a->released);
    if (a->creation_seen) history.add(last);
    end_allocation(handle);
  }
  last_mapping_.rest_at(it);
}

void UnicastState::put(const calls::MemMap& call, Origin at, Tombstones& history) {
  if (Allocation* const a = own(call.handle)) {
    ++a->mappings;
    // Drivers only map whole allocations, so the call tells the size of an import.
    if (a->size == 0 && !a->multicast) a->size = call.size;
  }
  auto first = first_mapping_after(call.ptr);
  if (first != mappings_.end() &&
      overlap(first->second.base, first->second.size, call.ptr, call.size)) [[unlikely]] {
    forget_mappings(call.ptr, call.size, history);
    first = first_mapping_after(call.ptr);
  }
  last_mapping_.rest_at(spare_mappings_.put(mappings_, first, call.ptr,
                                            {.base = call.ptr,
                                             .size = call.size,
                                             .offset = call.offset,
                                             .handle = call.handle,
                                             .access = {},
                                             .made = at}));
  if (Reservation* const r = own_reservation(call.ptr)) {
    r->mapped = true;
    if (r->unmapped.call != 0) r->reused = true;
  }
}

void UnicastState::begin(const calls::MemMap& call, Origin at, Tombstones& history,
                         Recorded& recorded) {
  put(call, at, history);
  recorded.done = true;
}

void UnicastState::begin(const calls::MemSetAccess& call, Origin, Tombstones&, Recorded& recorded) {
  const auto first = first_mapping_after(call.ptr);
  const auto it = mappings_.erase(first, first);  // an iterator that may write
  // A grant to several mappings is recorded after the driver's success.
  if (it == mappings_.end() ||
      !reaches_end(it->second.base, it->second.size, call.ptr, call.size)) {
    return;
  }
  recorded.access = it->second.access;
  recorded.done = true;
  grant(call, it->second.access);
}

// --- After the driver accepted the call

void UnicastState::confirm(const calls::MemAddressReserve& call, const Facts&, Origin at,
                           Tombstones& history) {
  const Address base = *call.ptr;
  auto first = last_reservation_.first_after(reservations_, base);
  while (first != reservations_.end() &&
         overlap(first->second.base, first->second.size, base, call.size))
    [[unlikely]] {
      // The old reservation, and the mappings in it, ended by a route that cuvmm did not see.
      forget_mappings(first->second.base, first->second.size, history);
      first = reservations_.erase(first);
    }
  last_reservation_.rest_at(spare_reservations_.put(
      reservations_, first, base,
      {.base = base, .size = call.size, .made = at, .free_refused = {}, .unmapped = {}}));
}

void UnicastState::confirm(const calls::MemCreate& call, const Facts& facts, Origin at,
                           Tombstones& history) {
  const Handle handle = *call.handle;
  history.forget(ObjectRef::Kind::kAllocation, handle);
  Allocation& a = spare_allocations_.fresh(allocations_, handle);
  a = {.handle = handle,
       .size = call.size,
       .granularity = facts.unicast.granularity,
       .prop = *call.prop,
       .prop_known = true,
       .references = 1,
       .made = at,
       .retained = {},
       .released = {},
       .unmapped = {}};
  last_allocation_.set(&a);
}

void UnicastState::confirm(const calls::MemImportFromShareableHandle& call, const Facts& facts,
                           Origin at, Tombstones& history) {
  Allocation a;
  a.handle = *call.handle;
  a.size = facts.sharing.imported.size;
  a.granularity = facts.sharing.imported.granularity;
  a.prop = facts.sharing.imported.prop;
  a.prop_known = facts.sharing.imported.prop_known;
  a.imported = true;
  a.references = 1;
  a.made = at;
  history.forget(ObjectRef::Kind::kAllocation, a.handle);
  last_allocation_.set(&spare_allocations_.put(allocations_, a.handle, a)->second);
}

void UnicastState::confirm(const calls::MemRetainAllocationHandle& call, const Facts&, Origin at,
                           Tombstones& history) {
  auto [it, inserted] = allocations_.try_emplace(*call.handle);
  Allocation& a = it->second;
  if (inserted) {
    a.handle = *call.handle;
    a.creation_seen = false;
    a.made = at;
    history.forget(ObjectRef::Kind::kAllocation, a.handle);
  }
  ++a.references;
  ++a.retains;
  a.retained = at;
}

void UnicastState::confirm(const calls::MulticastCreate& call, const Facts& facts, Origin at,
                           Tombstones& history) {
  Allocation a;
  a.handle = *call.mcHandle;
  a.size = call.prop->size;
  a.granularity = facts.unicast.granularity;
  a.prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  a.prop.requestedHandleTypes =
      static_cast<CUmemAllocationHandleType>(static_cast<unsigned>(call.prop->handleTypes));
  a.prop_known = true;
  a.multicast = true;
  a.references = 1;
  a.made = at;
  history.forget(ObjectRef::Kind::kAllocation, a.handle);
  allocations_[a.handle] = a;
}

void UnicastState::mark_multicast(Handle handle) {
  if (Allocation* const a = own(handle)) a->multicast = true;
}

void UnicastState::confirm(const calls::MemMap& call, const Facts&, Origin at,
                           Tombstones& history) {
  put(call, at, history);
}

void UnicastState::confirm(const calls::MemSetAccess& call, const Facts&, Origin, Tombstones&) {
  const auto first = first_mapping_after(call.ptr);
  // erase(it, it) erases nothing and turns the const iterator into one that may write.
  for (auto it = mappings_.erase(first, first);
       it != mappings_.end() && overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    grant(call, it->second.access);
    if (reaches_end(it->second.base, it->second.size, call.ptr, call.size)) break;
  }
}

// --- After the driver refused the call

void UnicastState::undo(Retired& retired, Origin at, Tombstones& history) {
  for (const Reservation& r : retired.reservations) {
    history.retract(ended_object(r, at));
    reservations_.emplace(r.base, r);
  }
  for (const Mapping& m : retired.mappings) {
    history.retract(ended_object(m, at));
    Reservation* const r = own_reservation(m.base);
    if (r && r->unmapped.call == at.call) r->unmapped = {};
    mappings_.emplace(m.base, m);
  }
  // Gives the counts back one by one, because other threads may have changed them meanwhile.
  for (const Allocation& before : retired.allocations) {
    history.retract(ended_object(before, at));
    auto [it, inserted] = allocations_.try_emplace(before.handle, before);
    Allocation& a = it->second;
    // The allocation ended meanwhile: only the counts that are given back here hold it.
    if (inserted) a.references = a.mappings = 0;
    if (a.released.call == at.call) a.released = before.released;
    if (a.unmapped.call == at.call) a.unmapped = before.unmapped;
    ++(retired.released ? a.references : a.mappings);
  }
}

void UnicastState::undo(const calls::MemMap& call, Origin at, Tombstones& history,
                        const Recorded&) {
  const auto it = mappings_.find(call.ptr);
  if (it == mappings_.end() || it->second.made.call != at.call) return;
  last_mapping_.rest_at(spare_mappings_.erase(mappings_, it));
  Allocation* const a = own(call.handle);
  if (!a || a->mappings == 0) return;
  --a->mappings;
  if (!ended(*a)) return;  // another thread released it meanwhile
  const ObjectRef last = ended_object(*a, a->released);
  end_allocation(call.handle);
  history.add(last);
}

void UnicastState::undo(const calls::MemSetAccess& call, Origin, Tombstones&,
                        const Recorded& recorded) {
  const auto it = mappings_.find(call.ptr);
  if (it == mappings_.end()) return;
  // Other threads may have granted access to other locations meanwhile.
  std::uint64_t mine = 0;
  for (std::size_t i = 0; i < call.count; ++i) mine |= location_bit(call.desc[i].location);
  if (mine & (AccessMask::kHostBit | 1)) mine |= AccessMask::kDeviceLastBit;
  AccessMask& access = it->second.access;
  access.read = (access.read & ~mine) | (recorded.access.read & mine);
  access.write = (access.write & ~mine) | (recorded.access.write & mine);
}

void UnicastState::note_refused(const calls::MemAddressFree& call, Origin at) {
  // Also if the size was wrong, because the program took the address for freed.
  const auto it = reservations_.find(call.ptr);
  // A newer reservation at the same address belongs to another call.
  if (it == reservations_.end() || it->second.made.call > at.call) return;
  it->second.free_refused = at;
}

namespace {

// Whether no range, in the order of their bases, reaches into the next.
template <class Ranges>
bool disjoint(const Ranges& ranges) {
  const typename Ranges::mapped_type* before = nullptr;
  for (const auto& [base, range] : ranges) {
    if (base != range.base) return false;
    if (before && overlap(before->base, before->size, range.base, range.size)) return false;
    before = &range;
  }
  return true;
}

}  // namespace

// An allocation may have more mappings than it counts, if the model did not see the earlier ones.
bool UnicastState::counts_mappings() const {
  std::size_t counted = 0;
  for (const auto& [handle, allocation] : allocations_) counted += allocation.mappings;
  return counted <= mappings_.size();
}

bool UnicastState::consistent() const {
  constexpr std::size_t kMost = 64;  // larger states would make each call slow
  if (mappings_.size() > kMost || reservations_.size() > kMost || allocations_.size() > kMost) {
    return true;
  }
  const auto is_recorded = [](const auto& known) {
    return known.first == known.second.handle && !ended(known.second);
  };
  return disjoint(mappings_) && disjoint(reservations_) && counts_mappings() &&
         std::all_of(allocations_.begin(), allocations_.end(), is_recorded);
}

void UnicastState::clear() {
  reservations_.clear();
  mappings_.clear();
  allocations_.clear();
  last_reservation_.forget();
  last_mapping_.forget();
  last_allocation_.forget();
  spare_reservations_.clear();
  spare_mappings_.clear();
  spare_allocations_.clear();
}

}  // namespace cuvmm
