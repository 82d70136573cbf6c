// SPDX-License-Identifier: Apache-2.0
// Calls about multicast in a World, for tests.
#pragma once

#include "rulebook/testing/world.h"

namespace cuvmm::testing {

inline constexpr Handle kObject = 0x900;
inline constexpr Handle kMemory = 0x100;

/// An object with a complete team of devices 0 and 1, and memory of device 0 to bind.
inline void ready(World& w, unsigned long long types = 0, unsigned memory_types = 0) {
  w.multicast(kObject, 2, 4, types);
  w.add(kObject, 0);
  w.add(kObject, 1);
  w.create(kMemory, 2, device_prop(0, memory_types));
}

inline calls::MulticastBindMem bind_call(std::uint64_t size = kGranule) {
  return {.mcHandle = kObject,
          .mcOffset = 0,
          .memHandle = kMemory,
          .memOffset = 0,
          .size = size,
          .flags = 0};
}
template <class Change>
Violations bind(World& w, bool broken, Change change) {
  ready(w);
  calls::MulticastBindMem call = bind_call();
  if (broken) change(call);
  return check(w.model, call);
}
inline Violations bind_address(World& w, Address address) {
  return check(w.model, calls::MulticastBindAddr{
                            .mcHandle = kObject, .memptr = address, .size = kGranule, .flags = 0});
}

inline calls::MulticastUnbind unbind_call() {
  return {.mcHandle = kObject, .dev = 0, .mcOffset = 0, .size = 2 * kGranule};
}
template <class Change>
Violations unbind(World& w, bool broken, Change change) {
  ready(w);
  w.bind(kObject, 0, kMemory, 2);
  calls::MulticastUnbind call = unbind_call();
  if (broken) change(call);
  return check(w.model, call);
}

}  // namespace cuvmm::testing
