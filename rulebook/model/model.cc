// SPDX-License-Identifier: Apache-2.0
#include "rulebook/model/model.h"

#include <utility>

namespace cuvmm {

namespace {

ObjectRef gone(const Reservation& r, Origin at) {
  return {ObjectRef::Kind::kReservation, r.base, r.size, r.made, at};
}
ObjectRef gone(const Mapping& m, Origin at) {
  return {ObjectRef::Kind::kMapping, m.base, m.size, m.made, at};
}
ObjectRef gone(const Allocation& a, Origin at) {
  return {ObjectRef::Kind::kAllocation, a.handle, a.size, a.made, at};
}

// Whether nothing keeps the allocation any more.
bool ended(const Allocation& a) { return a.references == 0 && a.mappings == 0; }

std::uint64_t location_bit(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return AccessMask::kHostBit;
  return location.id >= 0 && location.id < 62 ? std::uint64_t{1} << location.id : 0;
}

void grant(const calls::MemSetAccess& call, AccessMask& access) {
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

const Reservation* Model::reservation_at(Address address) const {
  const auto it = last_reservation_.first_after(reservations_, address);
  return it != reservations_.end() && it->second.base <= address ? &it->second : nullptr;
}

std::map<Address, Mapping>::const_iterator Model::first_mapping_after(Address address) const {
  return last_mapping_.first_after(mappings_, address);
}

const Mapping* Model::mapping_at(Address address) const {
  auto it = first_mapping_after(address);
  return it != mappings_.end() && it->second.base <= address ? &it->second : nullptr;
}

const Allocation* Model::search(Handle handle) const {
  auto it = allocations_.find(handle);
  return it == allocations_.end() ? nullptr : last_allocation_.set(&it->second);
}

// --- Taking away

void Model::end_allocation(Handle handle, Retired& retired) {
  last_allocation_.forget();
  spare_allocations_.erase_key(allocations_, handle);
  if (!multicasts_.empty()) [[unlikely]]
    end_multicast(handle, retired);
}

void Model::lose(Allocation& a, std::uint32_t Allocation::*count, Origin Allocation::*when,
                 const Origin* at, Retired& retired) {
  retired.allocations.push_back(a);
  --(a.*count);
  if (!ended(a)) {
    if (at) a.*when = *at;
    return;
  }
  if (at && a.creation_seen) tombstones_.add(gone(a, *at));
  end_allocation(a.handle, retired);
}

void Model::take(const calls::MemRelease& call, const Origin* at, Retired& retired) {
  Allocation* const a = own(call.handle);
  if (!a || a->references == 0) return;
  retired.released = true;
  lose(*a, &Allocation::references, &Allocation::released, at, retired);
}

void Model::take(const calls::MemUnmap& call, const Origin* at, Retired& retired) {
  const auto first = first_mapping_after(call.ptr);
  std::size_t count = 0;
  for (auto it = first;
       it != mappings_.end() && overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    const Mapping& m = it->second;
    const bool whole = m.base >= call.ptr && m.size <= call.size - (m.base - call.ptr);
    // A cut mapping makes a driver refuse the whole call: nothing is given up.
    if (!whole) [[unlikely]]
      return;
    ++count;
    if (reaches_end(m.base, m.size, call.ptr, call.size)) break;
  }
  for (auto it = first; count != 0; --count) {
    retired.mappings.push_back(it->second);
    if (at) {
      tombstones_.add(gone(it->second, *at));
      note_unmapped(it->second, *at);
    }
    Allocation* const a = own(it->second.handle);
    if (a && a->mappings != 0) {
      lose(*a, &Allocation::mappings, &Allocation::unmapped, at, retired);
    }
    it = spare_mappings_.erase(mappings_, it);
    last_mapping_.rest_at(it);
  }
}

void Model::take(const calls::MemAddressFree& call, const Origin* at, Retired& retired) {
  const auto it = last_reservation_.first_after(reservations_, call.ptr);
  if (it == reservations_.end() || it->second.base != call.ptr || it->second.size != call.size) {
    return;
  }
  retired.reservations.push_back(it->second);
  if (at) tombstones_.add(gone(it->second, *at));
  last_reservation_.rest_at(spare_reservations_.erase(reservations_, it));
}

void Model::retire(const calls::MemRelease& call, Retired& retired) {
  take(call, nullptr, retired);
}
void Model::retire(const calls::MemUnmap& call, Retired& retired) { take(call, nullptr, retired); }
void Model::retire(const calls::MemAddressFree& call, Retired& retired) {
  take(call, nullptr, retired);
}

void Model::give_up(const calls::MemRelease& call, Origin at, Retired& retired) {
  take(call, &at, retired);
  if (retired.rare) [[unlikely]]
    bury(*retired.rare, at);
}
void Model::give_up(const calls::MemUnmap& call, Origin at, Retired& retired) {
  take(call, &at, retired);
  if (retired.rare) [[unlikely]]
    bury(*retired.rare, at);
}
void Model::give_up(const calls::MemAddressFree& call, Origin at, Retired& retired) {
  take(call, &at, retired);
}

void Model::retire(const calls::MemFree& call, Retired& retired) {
  ends_meanwhile_.note(ObjectRef::Kind::kPoolMemory, call.dptr);
  retire_ipc(call.dptr, retired);
  retire_pool_memory(call.dptr, retired);
  retire_external_buffer(call.dptr, retired);
}

void Model::retire(const calls::MemFreeAsync& call, Retired& retired) {
  ends_meanwhile_.note(ObjectRef::Kind::kPoolMemory, call.dptr);
  retire_pool_memory(call.dptr, retired);
  retire_external_buffer(call.dptr, retired);
}

Reservation* Model::own_reservation(Address address) {
  const auto it = last_reservation_.first_after(reservations_, address);
  if (it == reservations_.end() || it->second.base > address) return nullptr;
  // Erasing nothing turns the const iterator into one that may write.
  return &reservations_.erase(it, it)->second;
}

void Model::note_unmapped(const Mapping& m, Origin at) {
  if (Reservation* const r = own_reservation(m.base)) r->unmapped = at;
}

bool Model::holds_mapping(const Reservation& r) const {
  const auto mapped = first_mapping_after(r.base);
  return mapped != mappings_.end() &&
         overlap(mapped->second.base, mapped->second.size, r.base, r.size);
}

void Model::restore(Retired&& retired, Origin at) {
  for (Reservation& r : retired.reservations) {
    if (at.call != 0) r.free_refused = at;
    reservations_.emplace(r.base, r);
  }
  for (const Mapping& m : retired.mappings) mappings_.emplace(m.base, m);
  // Counts are given back one by one, since other threads may have changed them meanwhile.
  for (const Allocation& before : retired.allocations) {
    auto [it, inserted] = allocations_.try_emplace(before.handle, before);
    // It ended meanwhile: what is given back here is all that keeps it.
    if (inserted) it->second.references = it->second.mappings = 0;
    ++(retired.released ? it->second.references : it->second.mappings);
  }
  if (!retired.rare) return;
  restore(retired.rare->external);
  restore(std::move(retired.rare->multicast));
  restore_ipc(*retired.rare);
  restore_pools(*retired.rare);
  if (retired.rare->context.ending) restore(retired.rare->context);
}

void Model::note_refused(const calls::MemAddressFree& call, Origin at) {
  // With another size, too: the program took the address for given back.
  const auto it = reservations_.find(call.ptr);
  // A newer one at the same address is somebody else's.
  if (it == reservations_.end() || it->second.made.call > at.call) return;
  it->second.free_refused = at;
}

void Model::bury(const Retired& retired, Origin at) {
  for (const Reservation& r : retired.reservations) tombstones_.add(gone(r, at));
  for (const Mapping& m : retired.mappings) {
    tombstones_.add(gone(m, at));
    note_unmapped(m, at);
  }
  for (const Allocation& before : retired.allocations) {
    if (Allocation* const a = own(before.handle)) {
      (retired.released ? a->released : a->unmapped) = at;
    } else if (before.creation_seen) {
      tombstones_.add(gone(before, at));
    }
  }
  if (retired.rare) [[unlikely]]
    bury(*retired.rare, at);
}

void Model::bury(const RarelyRetired& rare, Origin at) {
  bury(rare.external, at);
  bury_ipc(rare, at);
  bury_pools(rare, at);
  if (rare.context.ending) ends_meanwhile_.end();
}

void Model::unbury(const Retired& retired, Origin at) {
  for (const Reservation& r : retired.reservations) tombstones_.retract(gone(r, at));
  for (const Mapping& m : retired.mappings) {
    tombstones_.retract(gone(m, at));
    if (Reservation* const r = own_reservation(m.base)) {
      if (r->unmapped.call == at.call) r->unmapped = {};
    }
  }
  for (const Allocation& before : retired.allocations) {
    tombstones_.retract(gone(before, at));
    Allocation* const a = own(before.handle);
    if (!a) continue;
    if (a->released.call == at.call) a->released = before.released;
    if (a->unmapped.call == at.call) a->unmapped = before.unmapped;
  }
}

// --- Recording

void Model::commit(const calls::MemAddressReserve& call, Origin at) {
  const Address base = *call.ptr;
  auto first = last_reservation_.first_after(reservations_, base);
  while (first != reservations_.end() &&
         overlap(first->second.base, first->second.size, base, call.size))
    [[unlikely]] {
      first = reservations_.erase(first);  // it ended by a route we did not see
    }
  last_reservation_.rest_at(spare_reservations_.put(
      reservations_, first, base,
      {.base = base, .size = call.size, .made = at, .free_refused = {}, .unmapped = {}}));
}

void Model::commit(const calls::MemCreate& call, const Facts& facts, Origin at) {
  const Handle handle = *call.handle;
  if (!multicasts_.empty()) [[unlikely]]
    multicasts_.erase(handle);  // it ended by a route we did not see
  tombstones_.forget(ObjectRef::Kind::kAllocation, handle);
  tiles_.forget(handle);
  Allocation& a = spare_allocations_.fresh(allocations_, handle);
  a = {.handle = handle,
       .size = call.size,
       .granularity = facts.granularity,
       .prop = *call.prop,
       .prop_known = true,
       .references = 1,
       .made = at,
       .retained = {},
       .released = {},
       .unmapped = {}};
  last_allocation_.set(&a);
}

void Model::commit(const calls::MemImportFromShareableHandle& call, const Allocation& known,
                   Origin at) {
  Allocation a;
  a.handle = *call.handle;
  a.size = known.size;
  a.granularity = known.granularity;
  a.prop = known.prop;
  a.prop_known = known.prop_known;
  a.imported = true;
  a.references = 1;
  a.made = at;
  if (!multicasts_.empty()) [[unlikely]]
    multicasts_.erase(a.handle);  // it ended by a route we did not see
  tombstones_.forget(ObjectRef::Kind::kAllocation, a.handle);
  tiles_.forget(a.handle);
  last_allocation_.set(&spare_allocations_.put(allocations_, a.handle, a)->second);
}

void Model::commit(const calls::MemMap& call, Origin at) {
  auto first = first_mapping_after(call.ptr);
  while (first != mappings_.end() &&
         overlap(first->second.base, first->second.size, call.ptr, call.size))
    [[unlikely]] {
      first = mappings_.erase(first);  // it ended by a route we did not see
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
  Allocation* const a = own(call.handle);
  if (!a) return;
  ++a->mappings;
  // Drivers map an allocation as a whole or not at all: this is the size of an import.
  if (a->size == 0 && !multicast(call.handle)) a->size = call.size;
}

void Model::commit(const calls::MemSetAccess& call, Origin) {
  const auto first = first_mapping_after(call.ptr);
  // Erasing nothing turns the const iterator into one that may write.
  for (auto it = mappings_.erase(first, first);
       it != mappings_.end() && overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    grant(call, it->second.access);
    if (reaches_end(it->second.base, it->second.size, call.ptr, call.size)) break;
  }
}

void Model::record(const calls::MemMap& call, Origin at, Recorded& recorded) {
  commit(call, at);
  recorded.done = true;
}

void Model::record(const calls::MemSetAccess& call, Origin, Recorded& recorded) {
  const auto first = first_mapping_after(call.ptr);
  const auto it = mappings_.erase(first, first);  // the place, to write
  // A call on several mappings is recorded once it succeeded.
  if (it == mappings_.end() ||
      !reaches_end(it->second.base, it->second.size, call.ptr, call.size)) {
    return;
  }
  recorded.access = it->second.access;
  recorded.done = true;
  grant(call, it->second.access);
}

void Model::unrecord(const calls::MemMap& call, Origin at, const Recorded&) {
  const auto it = mappings_.find(call.ptr);
  if (it == mappings_.end() || it->second.made.call != at.call) return;
  last_mapping_.rest_at(spare_mappings_.erase(mappings_, it));
  Allocation* const a = own(call.handle);
  if (!a || a->mappings == 0) return;
  --a->mappings;
  if (!ended(*a)) return;  // it was released meanwhile
  const ObjectRef last = gone(*a, a->released);
  Retired nothing_to_restore;
  end_allocation(call.handle, nothing_to_restore);
  tombstones_.add(last);
}

void Model::unrecord(const calls::MemSetAccess& call, Origin, const Recorded& recorded) {
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

void Model::commit(const calls::MemExportToShareableHandle& call, Origin at) {
  if (auto object = multicasts_.find(call.handle); object != multicasts_.end()) {
    object->second.shared = true;
  }
  if (call.handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return;
  const int fd = *static_cast<const int*>(call.shareableHandle);
  opened(fd);
  const Allocation* exported = allocation(call.handle);
  exports_[fd] = {
      .fd = fd, .handle = call.handle, .size = exported ? exported->size : 0, .made = at};
}

void Model::commit(const calls::MemRetainAllocationHandle& call, Origin at) {
  auto [it, inserted] = allocations_.try_emplace(*call.handle);
  Allocation& a = it->second;
  if (inserted) {
    a.handle = *call.handle;
    a.creation_seen = false;
    a.made = at;
    tombstones_.forget(ObjectRef::Kind::kAllocation, a.handle);
  }
  ++a.references;
  ++a.retains;
  a.retained = at;
}

void Model::clear() {
  reservations_.clear();
  mappings_.clear();
  allocations_.clear();
  exports_.clear();
  multicasts_.clear();
  ipc_ = {};
  pools_ = {};
  external_ = {};
  tiles_ = {};
  ends_meanwhile_ = {};
  tombstones_.clear();
  last_reservation_.forget();
  last_mapping_.forget();
  last_allocation_.forget();
  spare_reservations_.clear();
  spare_mappings_.clear();
  spare_allocations_.clear();
}

}  // namespace cuvmm
