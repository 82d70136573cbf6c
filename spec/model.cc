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
  auto it = reservations_.upper_bound(address);
  if (it == reservations_.begin()) return nullptr;
  --it;
  return address - it->second.base < it->second.size ? &it->second : nullptr;
}

std::map<Address, Mapping>::const_iterator Model::first_mapping_after(Address address) const {
  auto it = mappings_.upper_bound(address);
  if (it != mappings_.begin()) {
    auto before = std::prev(it);
    if (address - before->second.base < before->second.size) return before;
  }
  return it;
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
  if (ended(it->second)) allocations_.erase(it);
  return retired;
}

Retired Model::retire(const calls::MemUnmap& call) {
  Retired retired;
  auto first = first_mapping_after(call.ptr);
  auto last = first;
  for (; last != mappings_.end() &&
         overlap(last->second.base, last->second.size, call.ptr, call.size);
       ++last) {
    const Mapping& m = last->second;
    const bool whole = m.base >= call.ptr && m.size <= call.size - (m.base - call.ptr);
    // A cut mapping makes a driver refuse the whole call: nothing is given up.
    if (!whole) return {};
  }
  for (auto it = first; it != last; ++it) {
    retired.mappings.push_back(it->second);
    auto a = allocations_.find(it->second.handle);
    if (a == allocations_.end() || a->second.mappings == 0) continue;
    retired.allocations.push_back(a->second);
    --a->second.mappings;
    if (ended(a->second)) allocations_.erase(a);
  }
  mappings_.erase(first, last);
  return retired;
}

Retired Model::retire(const calls::MemAddressFree& call) {
  Retired retired;
  auto it = reservations_.find(call.ptr);
  if (it == reservations_.end() || it->second.size != call.size) return retired;
  retired.reservations.push_back(it->second);
  reservations_.erase(it);
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
}

// --- Recording

void Model::commit(const calls::MemAddressReserve& call, Origin at) {
  const Address base = *call.ptr;
  // An overlap means that the old range ended by a route we did not see.
  while (!reservations_.empty()) {
    auto it = reservations_.lower_bound(base);
    if (it != reservations_.begin() &&
        overlap(std::prev(it)->second.base, std::prev(it)->second.size, base, call.size)) {
      reservations_.erase(std::prev(it));
    } else if (it != reservations_.end() &&
               overlap(it->second.base, it->second.size, base, call.size)) {
      reservations_.erase(it);
    } else {
      break;
    }
  }
  reservations_[base] = {.base = base, .size = call.size, .made = at, .free_refused = {}};
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
  tombstones_.forget(ObjectRef::Kind::kAllocation, a.handle);
  tiles_.forget(a.handle);
  allocations_[a.handle] = a;
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
  tombstones_.forget(ObjectRef::Kind::kAllocation, a.handle);
  tiles_.forget(a.handle);
  allocations_[a.handle] = a;
}

void Model::commit(const calls::MemMap& call, Origin at) {
  auto first = first_mapping_after(call.ptr);
  while (first != mappings_.end() &&
         overlap(first->second.base, first->second.size, call.ptr, call.size)) {
    first = mappings_.erase(first);  // it ended by a route we did not see
  }
  mappings_[call.ptr] = {
      .base = call.ptr, .size = call.size, .handle = call.handle, .access = {}, .made = at};
  auto a = allocations_.find(call.handle);
  if (a == allocations_.end()) return;
  ++a->second.mappings;
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
  }
}

void Model::commit(const calls::MemExportToShareableHandle& call, Origin at) {
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
  external_ = {};
  tiles_ = {};
  tombstones_.clear();
}

}  // namespace cuvmm
