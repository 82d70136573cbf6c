// SPDX-License-Identifier: Apache-2.0
// Policies of reservations, allocations, mappings and multicast objects.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/policy/still_used.h"

namespace cuvmm::shim {

template <>
struct Policy<calls::MemAddressReserve> {
  static constexpr bool kPlatformOnly = true;
  static void made(PolicyResources& resources, const calls::MemAddressReserve& call,
                   Step<calls::MemAddressReserve>&) {
    resources.bounds.widen(*call.ptr, call.size);
    resources.work.reserved(*call.ptr, call.size);
  }
  static void record(PolicyResources& resources, const calls::MemAddressReserve& call,
                     Step<calls::MemAddressReserve>& step) {
    if (call.addr != 0 && call.addr != *call.ptr) [[unlikely]]
      resources.history.causes.unmet({call.addr, call.size, *call.ptr, step.origin});
  }
};

template <>
struct Policy<calls::MemCreate> {
  static constexpr bool kPlatformOnly = true;
  static void ask(PolicyResources& resources, const calls::MemCreate& call,
                  Step<calls::MemCreate>& step) {
    if (call.prop)
      step.facts.write().unicast.granularity = resources.driver.granularity(*call.prop);
  }
  static void record(PolicyResources& resources, const calls::MemCreate& call,
                     Step<calls::MemCreate>&) {
    // An import that ended had this value.
    if (!resources.history.imported.empty()) resources.history.imported.erase(*call.handle);
  }
};

template <>
struct Policy<calls::MemGetAllocationGranularity> {
  static constexpr bool kPlatformOnly = true;
};

template <>
struct Policy<calls::MemMap> {
  static void ask(PolicyResources& resources, const calls::MemMap& call, Step<calls::MemMap>&) {
    resources.work.follow(call.ptr, call.size);
  }
  // Some drivers map past the end of a reservation; cuvmm judges a copy there as well.
  static void made(PolicyResources& resources, const calls::MemMap& call, Step<calls::MemMap>&) {
    resources.bounds.widen(call.ptr, call.size);
  }
};

template <>
struct Policy<calls::MemUnmap> {
  using Call = calls::MemUnmap;
  using CallState = StillUsed;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    find_work(resources, call.ptr, call.size, step.state, step);
  }
};

template <>
struct Policy<calls::MemSetAccess> : Anonymous {
  using Call = calls::MemSetAccess;
  using CallState = StillUsed;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (!resources.work.active() || !call.desc) return;
    for (std::size_t i = 0; i < call.count; ++i) {
      if (call.desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) [[unlikely]]
        resources.work.reaches_host(call.ptr, call.size);
      if (call.desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) [[likely]]
        continue;
      return find_work(resources, call.ptr, call.size, step.state, step);
    }
  }
};

template <>
struct Policy<calls::MemMapArrayAsync> {
  using Call = calls::MemMapArrayAsync;
  struct CallState {
    std::vector<std::uint64_t> sizes;  ///< the size of the memory that each entry maps
  };
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.driver.find_device(call.hStream, false, step.facts.write().place);
  }
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    step.state.sizes = resources.driver.tile_sizes(call);
    if (!step.state.sizes.empty()) step.facts.write().array.sizes = step.state.sizes.data();
  }
};

template <>
struct Policy<calls::MulticastCreate> {
  static void ask(PolicyResources& resources, const calls::MulticastCreate& call,
                  Step<calls::MulticastCreate>& step) {
    if (call.prop)
      resources.driver.find_multicast_granularity(*call.prop, step.facts.write().multicast);
  }
};

}  // namespace cuvmm::shim
