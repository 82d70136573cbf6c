// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of the pools of places: rulebook/rules/current_pool.def, line by line.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

constexpr int kDeviceType = 1, kHostType = 2, kNodeType = 3, kCurrentNodeType = 4;

std::uint64_t value_of_pool(CUmemoryPool pool) { return reinterpret_cast<std::uint64_t>(pool); }

}  // namespace

void Reference::judge_place(Judgement& out, const CUmemLocation* place, CUmemAllocationType type,
                            const PlaceRules& rules) const {
  // These programs never ask for managed memory.
  if (static_cast<int>(type) != 1) out.add(rules.type);
  if (!place) {
    out.add(rules.location);
    return;
  }
  switch (static_cast<int>(place->type)) {
    case kDeviceType:
      if (!valid_device(place->id)) out.add(rules.device);
      break;
    case kHostType:
      break;
    case kNodeType:
      if (place->id != 0) out.add(rules.node);  // there is one
      break;
    case kCurrentNodeType:
      out.add(Quirk::kPoolCurrentNode);
      out.add(rules.location_type);
      break;
    default:
      if (static_cast<int>(place->type) > kCurrentNodeType) out.add(Quirk::kPoolInvisible);
      out.add(rules.location_type);
      break;
  }
}

Judgement Reference::judge(const calls::MemGetDefaultMemPool& call, Actor) const {
  Judgement out;
  if (!call.pool_out) out.add(Rule::kPlaceDefaultOut);
  judge_place(
      out, call.location, call.type,
      {Rule::kPlaceDefaultLocation, Rule::kPlaceDefaultType, Rule::kPlaceDefaultLocationType,
       Rule::kPlaceDefaultLocationDevice, Rule::kPlaceDefaultLocationNode});
  return out;
}

Judgement Reference::judge(const calls::MemGetMemPool& call, Actor) const {
  Judgement out;
  if (!call.pool) out.add(Rule::kPlaceCurrentOut);
  judge_place(
      out, call.location, call.type,
      {Rule::kPlaceCurrentLocation, Rule::kPlaceCurrentType, Rule::kPlaceCurrentLocationType,
       Rule::kPlaceCurrentLocationDevice, Rule::kPlaceCurrentLocationNode});
  return out;
}

Judgement Reference::judge(const calls::MemSetMemPool& call, Actor) const {
  Judgement out;
  judge_place(out, call.location, call.type,
              {Rule::kPlaceSetLocation, Rule::kPlaceSetType, Rule::kPlaceSetLocationType,
               Rule::kPlaceSetLocationDevice, Rule::kPlaceSetLocationNode});
  const bool placed = out.count == 0;
  judge_pool(out, call.pool, Rule::kPlaceSetPoolValid, Rule::kPlaceSetPoolAlive);
  // The location of a destroyed pool is still known.
  const int index = call.pool ? pool_state_.find(value_of_pool(call.pool)) : -1;
  if (index < 0) return out;
  const auto& pool = pool_state_.pools[static_cast<std::size_t>(index)];
  if (pool.live && pool.source >= 0) out.add(Rule::kPlaceSetImported);
  const bool there = placed && static_cast<int>(call.location->type) == pool.location_type &&
                     (pool.location_type == kHostType || call.location->id == pool.location);
  if (placed && !there) out.add(Rule::kPlaceSetMatches);
  return out;
}

// The last pool that was set for a place counts, as long as it lives.
void Reference::set_current(std::uint64_t value, int location_type, int location) {
  const int index = pool_state_.find(value);
  if (index < 0 || !pool_state_.pools[static_cast<std::size_t>(index)].live) return;
  pool_state_.current.push_back({location_type, location, index});
}

const char* Reference::accept(const calls::DeviceSetMemPool& call) {
  set_current(value_of_pool(call.pool), kDeviceType, call.dev);
  return nullptr;
}

const char* Reference::accept(const calls::MemSetMemPool& call) {
  set_current(value_of_pool(call.pool), static_cast<int>(call.location->type), call.location->id);
  return nullptr;
}

const char* Reference::add_default(std::uint64_t value, const CUmemLocation& place) {
  const int known = pool_state_.find(value);
  const int type = static_cast<int>(place.type);
  if (known < 0) {
    pool_state_.pools.push_back({value, type, place.id, 0, -1, true, true});
    return value ? nullptr : "the pool is NULL";
  }
  const auto& pool = pool_state_.pools[static_cast<std::size_t>(known)];
  if (!pool.is_default) return "the default pool is one that was created";
  const bool there = pool.location_type == type && pool.location == place.id;
  return there || type != kDeviceType ? nullptr : "the default pool is that of another place";
}

const char* Reference::accept(const calls::MemGetDefaultMemPool& call) {
  return add_default(value_of_pool(*call.pool_out), *call.location);
}

const char* Reference::accept(const calls::MemGetMemPool& call) {
  const int type = static_cast<int>(call.location->type);
  const PoolState::Pool* set = nullptr;
  for (const auto& one : pool_state_.current) {
    if (one.location_type != type || one.location != call.location->id) continue;
    set = &pool_state_.pools[static_cast<std::size_t>(one.pool)];
  }
  const std::uint64_t got = value_of_pool(*call.pool);
  if (!set || !set->live) return add_default(got, *call.location);
  return got == set->value ? nullptr : "the current pool is not the one that was set";
}

}  // namespace cuvmm::fuzz
