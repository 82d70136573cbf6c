// SPDX-License-Identifier: Apache-2.0
// Policies of reservations, allocations, mappings and multicast objects.
#pragma once

#include "shim/policy/policy.h"

namespace cuvmm::shim {

template <>
struct Policy<calls::MemAddressReserve> {
  static constexpr bool kPlatformOnly = true;
  static void made(Desk& desk, const calls::MemAddressReserve& call,
                   Step<calls::MemAddressReserve>&) {
    desk.bounds.widen(*call.ptr, call.size);
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
  // Some drivers map past the end of a reservation; a copy there is ours to judge as well.
  static void made(Desk& desk, const calls::MemMap& call, Step<calls::MemMap>&) {
    desk.bounds.widen(call.ptr, call.size);
  }
};

template <>
struct Policy<calls::MemSetAccess> : Anonymous {};

template <>
struct Policy<calls::MemMapArrayAsync> {
  static void ask(Desk& desk, const calls::MemMapArrayAsync& call,
                  Step<calls::MemMapArrayAsync>& step) {
    desk.driver.find_device(call.hStream, false, step.facts.write().place);
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
