#include "spec/model.h"

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
  return location.id >= 0 && location.id < 63 ? std::uint64_t{1} << location.id : 0;
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

const Allocation* Model::allocation(Handle handle) const {
  auto it = allocations_.find(handle);
  return it == allocations_.end() ? nullptr : &it->second;
}

// --- Taking away

Retired Model::retire(const calls::MemRelease& call) {
  Retired retired;
  auto it = allocations_.find(call.handle);
  if (it == allocations_.end() || it->second.references == 0) return retired;
  retired.allocations.push_back(it->second);
  retired.released = true;
  --it->second.references;
  if (ended(it->second)) {
    spare_allocations_.erase(allocations_, it);
    end_multicast(call.handle, retired.multicast);
  }
  return retired;
}

Retired Model::retire(const calls::MemUnmap& call) {
  Retired retired;
  const auto first = first_mapping_after(call.ptr);
  std::size_t count = 0;
  for (auto it = first;
       it != mappings_.end() && overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    const Mapping& m = it->second;
    const bool whole = m.base >= call.ptr && m.size <= call.size - (m.base - call.ptr);
    // A cut mapping makes a driver refuse the whole call: nothing is given up.
    if (!whole) return {};
    ++count;
    if (reaches_end(m.base, m.size, call.ptr, call.size)) break;
  }
  for (auto it = first; count != 0; --count) {
    retired.mappings.push_back(it->second);
    auto a = allocations_.find(it->second.handle);
    if (a != allocations_.end() && a->second.mappings != 0) {
      retired.allocations.push_back(a->second);
      --a->second.mappings;
      if (ended(a->second)) {
        spare_allocations_.erase(allocations_, a);
        end_multicast(it->second.handle, retired.multicast);
      }
    }
    it = spare_mappings_.erase(mappings_, it);
    last_mapping_.rest_at(it);
  }
  return retired;
}

Retired Model::retire(const calls::MemAddressFree& call) {
  Retired retired;
  const auto it = last_reservation_.first_after(reservations_, call.ptr);
  if (it == reservations_.end() || it->second.base != call.ptr || it->second.size != call.size) {
    return retired;
  }
  retired.reservations.push_back(it->second);
  last_reservation_.rest_at(spare_reservations_.erase(reservations_, it));
  return retired;
}

Retired Model::retire(const calls::MemFree& call) {
  Retired retired;
  retire_ipc(call.dptr, retired);
  retire_pool_memory(call.dptr, retired);
  retire_external_buffer(call.dptr, retired);
  return retired;
}

Retired Model::retire(const calls::MemFreeAsync& call) {
  Retired retired;
  retire_pool_memory(call.dptr, retired);
  retire_external_buffer(call.dptr, retired);
  return retired;
}

void Model::restore(Retired&& retired, Origin at) {
  for (Reservation& r : retired.reservations) {
    auto mapped = first_mapping_after(r.base);
    if (mapped != mappings_.end() &&
        overlap(mapped->second.base, mapped->second.size, r.base, r.size)) {
      r.free_refused = at;
    }
    reservations_.emplace(r.base, r);
  }
  for (const Mapping& m : retired.mappings) mappings_.emplace(m.base, m);
  restore(retired.external);
  // Counts are given back one by one, since other threads may have changed them meanwhile.
  for (const Allocation& before : retired.allocations) {
    auto [it, inserted] = allocations_.try_emplace(before.handle, before);
    if (inserted) {
      if (!retired.released) it->second.mappings = 1;
    } else if (retired.released) {
      ++it->second.references;
    } else {
      ++it->second.mappings;
    }
  }
  restore(std::move(retired.multicast));
  restore_ipc(retired);
  restore_pools(retired);
}

void Model::bury(Retired&& retired, Origin at) {
  bury(retired.external, at);
  for (const Reservation& r : retired.reservations) tombstones_.add(gone(r, at));
  for (const Mapping& m : retired.mappings) tombstones_.add(gone(m, at));
  for (const Allocation& before : retired.allocations) {
    auto it = allocations_.find(before.handle);
    if (it != allocations_.end()) {
      (retired.released ? it->second.released : it->second.unmapped) = at;
    } else if (before.creation_seen) {
      tombstones_.add(gone(before, at));
    }
  }
  bury_ipc(retired, at);
  bury_pools(retired, at);
}

// --- Recording

void Model::commit(const calls::MemAddressReserve& call, Origin at) {
  const Address base = *call.ptr;
  auto first = last_reservation_.first_after(reservations_, base);
  while (first != reservations_.end() &&
         overlap(first->second.base, first->second.size, base, call.size)) {
    first = reservations_.erase(first);  // it ended by a route we did not see
  }
  last_reservation_.rest_at(
      spare_reservations_.put(reservations_, first, base,
                              {.base = base, .size = call.size, .made = at, .free_refused = {}}));
}

void Model::commit(const calls::MemCreate& call, const Facts& facts, Origin at) {
  Allocation a;
  a.handle = *call.handle;
  a.size = call.size;
  a.granularity = facts.granularity;
  a.prop = *call.prop;
  a.prop_known = true;
  a.references = 1;
  a.made = at;
  multicasts_.erase(a.handle);  // it ended by a route we did not see
  tombstones_.forget(ObjectRef::Kind::kAllocation, a.handle);
  tiles_.forget(a.handle);
  spare_allocations_.put(allocations_, a.handle, a);
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
  multicasts_.erase(a.handle);  // it ended by a route we did not see
  tombstones_.forget(ObjectRef::Kind::kAllocation, a.handle);
  tiles_.forget(a.handle);
  spare_allocations_.put(allocations_, a.handle, a);
}

void Model::commit(const calls::MemMap& call, Origin at) {
  auto first = first_mapping_after(call.ptr);
  while (first != mappings_.end() &&
         overlap(first->second.base, first->second.size, call.ptr, call.size)) {
    first = mappings_.erase(first);  // it ended by a route we did not see
  }
  last_mapping_.rest_at(spare_mappings_.put(mappings_, first, call.ptr,
                                            {.base = call.ptr,
                                             .size = call.size,
                                             .offset = call.offset,
                                             .handle = call.handle,
                                             .access = {},
                                             .made = at}));
  auto a = allocations_.find(call.handle);
  if (a == allocations_.end()) return;
  ++a->second.mappings;
  if (multicasts_.contains(call.handle)) return;
  // Drivers map an allocation as a whole or not at all: this is the size of an import.
  if (a->second.size == 0) a->second.size = call.size;
}

void Model::commit(const calls::MemSetAccess& call, Origin) {
  const auto first = first_mapping_after(call.ptr);
  // Erasing nothing turns the const iterator into one that may write.
  for (auto it = mappings_.erase(first, first);
       it != mappings_.end() && overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    AccessMask& access = it->second.access;
    for (std::size_t i = 0; i < call.count; ++i) {
      const std::uint64_t bit = location_bit(call.desc[i].location);
      const unsigned flags = static_cast<unsigned>(call.desc[i].flags);
      access.read =
          (flags & CU_MEM_ACCESS_FLAGS_PROT_READ) ? access.read | bit : access.read & ~bit;
      access.write =
          flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? access.write | bit : access.write & ~bit;
    }
    if (reaches_end(it->second.base, it->second.size, call.ptr, call.size)) break;
  }
}

void Model::commit(const calls::MemExportToShareableHandle& call, Origin at) {
  if (auto object = multicasts_.find(call.handle); object != multicasts_.end()) {
    object->second.shared = true;
  }
  if (call.handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return;
  const int fd = *static_cast<const int*>(call.shareableHandle);
  // The number is new, so an older export under it has been closed.
  exports_[fd] = {.fd = fd, .handle = call.handle, .made = at};
  external_.given.erase(fd);
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
  tombstones_.clear();
  last_reservation_.forget();
  last_mapping_.forget();
  spare_reservations_.clear();
  spare_mappings_.clear();
  spare_allocations_.clear();
}

}  // namespace cuvmm
