// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/pools.h"

#include <algorithm>
#include <utility>

#include "api/location.h"

namespace cuvmm::emulator {

namespace {

// The unit in which an H200's pool takes memory.
constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;

// How many chunks hold `bytes` bytes, at most as many as a 64-bit number of bytes can express.
std::uint64_t chunks(std::uint64_t bytes) {
  return std::min(bytes / kChunk + (bytes % kChunk != 0), ~std::uint64_t{0} / kChunk);
}

}  // namespace

Pool::Pool(std::uint64_t handle, const CUmemAllocationProp& prop, Kind kind)
    : handle_(handle), prop_(prop), kind_(kind) {}

void Pool::publish(std::uint64_t id, std::shared_ptr<Physical> file) {
  id_ = id;
  file_ = std::move(file);
}

bool Pool::fits(std::uint64_t bytes) const {
  if (max_size_ == 0) return true;
  const std::uint64_t most = chunks(max_size_), held = chunks(live_);
  return chunks(bytes) <= most && chunks(live_ + bytes) <= std::max(most, held);
}

void Pool::take(std::uint64_t bytes) {
  live_ += bytes;
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
  reserved_ = std::max(reserved_, chunks(live_) * kChunk);
  reserved_high_ = std::max(reserved_high_, reserved_);
  charge();
}

void Pool::give_back(std::uint64_t bytes, bool by_pool) {
  live_ -= std::min(live_, bytes);
  if (by_pool) used_ -= std::min(used_, bytes);
  // Reserved memory above the threshold is given back; a chunk that lies across the threshold is
  // given back whole (measured), while a trim leaves it.
  trim(release_threshold_ / kChunk * kChunk);
}

void Pool::trim(std::uint64_t keep) {
  // A value that overflows when it is rounded up counts as 0 (measured).
  if (keep > UINT64_MAX - (kChunk - 1)) keep = 0;
  const std::uint64_t needed = std::max(chunks(live_), chunks(keep)) * kChunk;
  reserved_ = std::min(reserved_, needed);
  charge();
}

void Pool::set_release_threshold(std::uint64_t bytes) {
  release_threshold_ = bytes;
  charge();
}

bool Pool::keeps() const { return release_threshold_ != 0 || reserved_ > chunks(live_) * kChunk; }

std::uint64_t Pool::growth(std::uint64_t bytes) const {
  if (!keeps()) return bytes;
  const std::uint64_t needed = chunks(live_ + std::min(bytes, UINT64_MAX - live_)) * kChunk;
  return needed - std::min(needed, reserved_);
}

// A pool that keeps nothing counts only its allocated bytes, though an H200 takes whole chunks: so
// a device that the user made small holds as many bytes as its size says.
void Pool::charge() {
  const std::uint64_t now = keeps() ? reserved_ : live_;
  if (devices_) *devices_->account(device_of(prop_.location)) += now - charged_;
  charged_ = now;
}

std::optional<unsigned> Pool::access(int device) const {
  const auto set = access_.find(device);
  return set == access_.end() ? std::nullopt : std::optional(set->second);
}

void Pool::set_access(int device, unsigned flags) { access_[device] = flags; }

void Pools::open(Devices& devices, int domains, std::uint64_t numa_nodes) {
  devices_ = &devices;
  domains_ = domains;
  numa_nodes_ = numa_nodes;
  for (int device = 0; device < devices.count(); ++device) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    const Pool& pool = add(prop, Pool::Kind::kDefault);
    defaults_.push_back(pool.handle());
    current_.push_back(pool.handle());
  }
}

Pool& Pools::add(const CUmemAllocationProp& prop, Pool::Kind kind) {
  constexpr std::uint64_t kStep = 0x100;
  next_ += kStep;  // never given out twice: a stale handle stays stale
  Pool& pool = pools_.emplace(next_, Pool(next_, prop, kind)).first->second;
  if (pool.on_device() && !pool.imported()) pool.devices_ = devices_;
  return pool;
}

Pool& Pools::create(const CUmemAllocationProp& prop, std::uint64_t max_size) {
  Pool& pool = add(prop, Pool::Kind::kCreated);
  pool.max_size_ = max_size;
  return pool;
}

Pool& Pools::adopt(const CUmemAllocationProp& prop, std::uint64_t id) {
  Pool& pool = add(prop, Pool::Kind::kImported);
  pool.id_ = id;
  return pool;
}

std::optional<Pools::Place> Pools::place_of(const CUmemLocation& location,
                                            CUmemAllocationType memory) const {
  constexpr int kMostNodes = 64;
  const int type = static_cast<int>(location.type), id = location.id;
  const bool managed = static_cast<int>(memory) == Pool::kManaged;
  if (!managed && memory != CU_MEM_ALLOCATION_TYPE_PINNED) return std::nullopt;
  bool exists = false;
  if (type == CU_MEM_LOCATION_TYPE_DEVICE) {
    exists = id >= 0 && static_cast<std::size_t>(id) < defaults_.size();
  } else if (type == kLocationHostNuma) {
    exists = id >= 0 && id < kMostNodes && (numa_nodes_ >> id & 1);
  } else if (is_domain(location) && !managed) {
    const LocalityDomain at = locality_domain(location);
    exists = static_cast<std::size_t>(at.device) < defaults_.size() && at.domain < domains_;
    return exists ? std::optional<Place>({memory, type, at.device | at.domain << 8}) : std::nullopt;
  } else if (type == kLocationHost || (managed && type == 0)) {
    return Place{memory, type, 0};  // the id of these locations has no meaning
  }
  return exists ? std::optional<Place>({memory, type, id}) : std::nullopt;
}

Pool* Pools::default_at(const CUmemLocation& location, CUmemAllocationType type) {
  const auto place = place_of(location, type);
  if (!place) return nullptr;
  const bool pinned = type == CU_MEM_ALLOCATION_TYPE_PINNED;
  if (pinned && location.type == CU_MEM_LOCATION_TYPE_DEVICE) return &default_of(location.id);
  const auto [at, added] = other_defaults_.try_emplace(*place, 0);
  if (added) {
    CUmemAllocationProp prop{};
    prop.type = type;
    prop.location.type = location.type;
    prop.location.id = std::get<2>(*place);
    at->second = add(prop, Pool::Kind::kDefault).handle();
  }
  return &pools_.at(at->second);
}

Pool* Pools::current_at(const CUmemLocation& location, CUmemAllocationType type) {
  const auto place = place_of(location, type);
  if (!place) return nullptr;
  const bool pinned = type == CU_MEM_ALLOCATION_TYPE_PINNED;
  if (pinned && location.type == CU_MEM_LOCATION_TYPE_DEVICE) return &current_of(location.id);
  const auto set = other_current_.find(*place);
  return set == other_current_.end() ? default_at(location, type) : &pools_.at(set->second);
}

bool Pools::is_at_default(const CUmemLocation& location, CUmemAllocationType type) const {
  const auto place = place_of(location, type);
  if (!place) return false;
  if (type == CU_MEM_ALLOCATION_TYPE_PINNED && location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    return current_of(location.id).is_default();
  }
  const auto set = other_current_.find(*place);
  return set == other_current_.end() || pools_.at(set->second).is_default();
}

void Pools::set_current_at(const CUmemLocation& location, const Pool& pool) {
  if (!pool.managed() && location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    return set_current(location.id, pool);
  }
  if (const auto place = place_of(location, pool.prop().type))
    other_current_[*place] = pool.handle();
}

bool Pools::reaches(std::uint64_t handle, int device) const {
  const auto found = pools_.find(handle);
  if (found == pools_.end() || found->second.managed()) return true;
  return found->second.access(device).value_or(0) != 0;
}

Pool* Pools::find(CUmemoryPool pool) {
  const auto found = pools_.find(reinterpret_cast<std::uintptr_t>(pool));
  return found == pools_.end() || found->second.destroyed_ ? nullptr : &found->second;
}

void Pools::destroy(Pool& pool) {
  for (std::size_t device = 0; device < current_.size(); ++device) {
    if (current_[device] == pool.handle()) current_[device] = defaults_[device];
  }
  std::erase_if(other_current_, [&](const auto& entry) { return entry.second == pool.handle(); });
  pool.destroyed_ = true;
  destroyed_properties_[pool.handle()] = pool.prop();
  pool.set_release_threshold(0);
  pool.trim(0);
  drop_if_done(pool.handle());
}

const CUmemAllocationProp* Pools::destroyed(CUmemoryPool pool) const {
  const auto found = destroyed_properties_.find(reinterpret_cast<std::uintptr_t>(pool));
  return found == destroyed_properties_.end() ? nullptr : &found->second;
}

bool Pools::lay_on(CUmemoryPool pool, int device) const {
  const CUmemAllocationProp* prop = destroyed(pool);
  const bool on_device =
      prop && static_cast<int>(prop->type) != Pool::kManaged && is_device(prop->location);
  return on_device && device_of(prop->location) == device;
}

void Pools::took(std::uint64_t handle, std::uint64_t bytes) {
  const auto found = pools_.find(handle);
  if (found != pools_.end()) found->second.take(bytes);
}

std::optional<std::uint64_t> Pools::growth(std::uint64_t handle, std::uint64_t bytes) const {
  const auto found = pools_.find(handle);
  if (found == pools_.end() || !found->second.devices_) return std::nullopt;
  return found->second.growth(bytes);
}

void Pools::freed(std::uint64_t handle, std::uint64_t bytes, bool by_pool) {
  const auto found = pools_.find(handle);
  if (found == pools_.end()) return;
  found->second.give_back(bytes, by_pool);
  drop_if_done(handle);
}

void Pools::drop_if_done(std::uint64_t handle) {
  const auto found = pools_.find(handle);
  if (found->second.done()) pools_.erase(found);
}

}  // namespace cuvmm::emulator
