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
  static void made(Desk& desk, const calls::MemAddressReserve& call,
                   Step<calls::MemAddressReserve>&) {
    desk.bounds.widen(*call.ptr, call.size);
    desk.work.reserved(*call.ptr, call.size);
  }
  static void record(Desk& desk, const calls::MemAddressReserve& call,
                     Step<calls::MemAddressReserve>& step) {
    if (call.addr != 0 && call.addr != *call.ptr) [[unlikely]]
      desk.books.causes.unmet({call.addr, call.size, *call.ptr, step.origin});
  }
};

template <>
struct Policy<calls::MemCreate> {
  static constexpr bool kPlatformOnly = true;
  static void ask(Desk& desk, const calls::MemCreate& call, Step<calls::MemCreate>& step) {
    if (call.prop) step.facts.write().unicast.granularity = desk.driver.granularity(*call.prop);
  }
  static void record(Desk& desk, const calls::MemCreate& call, Step<calls::MemCreate>&) {
    // The value of an import that ended.
    if (!desk.books.imported.empty()) desk.books.imported.erase(*call.handle);
  }
};

template <>
struct Policy<calls::MemGetAllocationGranularity> {
  static constexpr bool kPlatformOnly = true;
};

template <>
struct Policy<calls::MemMap> {
  static void ask(Desk& desk, const calls::MemMap& call, Step<calls::MemMap>&) {
    desk.work.follow(call.ptr, call.size);
  }
  // Some drivers map past the end of a reservation; a copy there is ours to judge as well.
  static void made(Desk& desk, const calls::MemMap& call, Step<calls::MemMap>&) {
    desk.bounds.widen(call.ptr, call.size);
  }
};

template <>
struct Policy<calls::MemUnmap> {
  using Call = calls::MemUnmap;
  using Kept = StillUsed;
  static void ask(Desk& desk, const Call& call, Step<Call>& step) {
    find_work(desk, call.ptr, call.size, step.kept, step);
  }
};

template <>
struct Policy<calls::MemSetAccess> : Anonymous {
  using Call = calls::MemSetAccess;
  using Kept = StillUsed;
  static void ask(Desk& desk, const Call& call, Step<Call>& step) {
    if (!desk.work.active() || !call.desc) return;
    for (std::size_t i = 0; i < call.count; ++i) {
      if (call.desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) [[unlikely]]
        desk.work.reaches_host(call.ptr, call.size);
      if (call.desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) [[likely]]
        continue;
      return find_work(desk, call.ptr, call.size, step.kept, step);
    }
  }
};

template <>
struct Policy<calls::MemMapArrayAsync> {
  using Call = calls::MemMapArrayAsync;
  struct Kept {
    std::vector<std::uint64_t> sizes;  ///< of what each entry shows
  };
  static void ask(Desk& desk, const Call& call, Step<Call>& step) {
    desk.driver.find_device(call.hStream, false, step.facts.write().place);
  }
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    step.kept.sizes = desk.driver.tile_sizes(call);
    if (!step.kept.sizes.empty()) step.facts.write().array.sizes = step.kept.sizes.data();
  }
};

template <>
struct Policy<calls::MulticastCreate> {
  static void ask(Desk& desk, const calls::MulticastCreate& call,
                  Step<calls::MulticastCreate>& step) {
    if (call.prop) desk.driver.find_multicast_granularity(*call.prop, step.facts.write().multicast);
  }
};

}  // namespace cuvmm::shim
