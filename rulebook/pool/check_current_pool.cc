// SPDX-License-Identifier: Apache-2.0
// The pool that serves a device, or another place and type of memory.
#include "api/newer/pools.h"
#include "rulebook/pool/check_pool.h"

namespace cuvmm {
using namespace detail;

namespace {

struct LocationRules {
  Rule nonnull, type;
  PlaceRules place;
};

// Checks the place and the type of memory. True if both are valid, so that a pool can be compared
// with them.
template <class CallStruct>
bool check_where(Collector& out, const Model& model, const CallStruct& call,
                 const LocationRules& rules) {
  const bool managed = call.type == kManagedMemory;
  if (!managed && call.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    out.add(rules.type, "type is " + std::to_string(static_cast<int>(call.type)) +
                            ", not PINNED (1) or MANAGED (2)");
  }
  if (!call.location) {
    out.add(rules.nonnull, "location is NULL");
    return false;
  }
  const bool valid = managed || call.type == CU_MEM_ALLOCATION_TYPE_PINNED;
  return check_place(out, model, *call.location, managed, rules.place) && valid;
}

template <class CallStruct>
void check_device(Collector& out, const Model& model, const CallStruct& call, Rule rule) {
  if (!may_exist(model, call.dev)) {
    out.add(rule, "device " + std::to_string(call.dev) + " does not exist");
  }
}

}  // namespace

Violations check(const Model& model, const calls::DeviceGetDefaultMemPool& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_device(out, model, call, Rule::kPoolDefaultDevice);
  if (!call.pool_out) out.add(Rule::kPoolDefaultOut, "pool_out is NULL");
  return out.take();
}

Violations check(const Model& model, const calls::DeviceGetMemPool& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.pool) out.add(Rule::kPoolCurrentOut, "pool is NULL");
  check_device(out, model, call, Rule::kPoolCurrentDevice);
  return out.take();
}

Violations check(const Model& model, const calls::MemGetDefaultMemPool& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.pool_out) out.add(Rule::kPlaceDefaultOut, "pool_out is NULL");
  check_where(out, model, call,
              {Rule::kPlaceDefaultLocation,
               Rule::kPlaceDefaultType,
               {Rule::kPlaceDefaultLocationType, Rule::kPlaceDefaultLocationDevice,
                Rule::kPlaceDefaultLocationDevice, Rule::kPlaceDefaultLocationNode}});
  return out.take();
}

Violations check(const Model& model, const calls::MemGetMemPool& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.pool) out.add(Rule::kPlaceCurrentOut, "pool is NULL");
  check_where(out, model, call,
              {Rule::kPlaceCurrentLocation,
               Rule::kPlaceCurrentType,
               {Rule::kPlaceCurrentLocationType, Rule::kPlaceCurrentLocationDevice,
                Rule::kPlaceCurrentLocationDevice, Rule::kPlaceCurrentLocationNode}});
  return out.take();
}

Violations check(const Model& model, const calls::MemSetMemPool& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const bool placed = check_where(out, model, call,
                                  {Rule::kPlaceSetLocation,
                                   Rule::kPlaceSetType,
                                   {Rule::kPlaceSetLocationType, Rule::kPlaceSetLocationDevice,
                                    Rule::kPlaceSetLocationDevice, Rule::kPlaceSetLocationNode}});
  const Pool* pool = check_pool(out, model, call.pool,
                                {Rule::kPlaceSetPoolValid, Rule::kPlaceSetPoolAlive}, facts);
  if (!pool) return out.take();
  if (pool->imported) {
    out.add(Rule::kPlaceSetImported, "the pool was imported").objects.push_back(ref(*pool));
    return out.take();
  }
  const PoolPlace asked =
      placed ? pool_place(settled(*call.location, model.platform()), call.type) : PoolPlace{};
  if (placed && pool->placed() && pool->serves() != asked) {
    const bool managed = pool->managed;
    out.add(Rule::kPlaceSetMatches,
            std::string("the pool holds ") + (managed ? "managed" : "pinned") + " memory on " +
                location(managed ? pool->prefers : pool->location) + ", not " +
                (call.type == kManagedMemory ? "managed" : "pinned") + " memory on " +
                location(*call.location))
        .objects.push_back(ref(*pool));
  }
  return out.take();
}

}  // namespace cuvmm
