// SPDX-License-Identifier: Apache-2.0
// Functions that several checks of multicast calls use, and that the checks of other areas need for
// multicast objects. Internal to rulebook/.
#pragma once

#include <bit>

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

/// The object of a multicast call's handle. Null if nothing is known about the object, with a
/// violation unless the handle is merely unknown.
const MulticastObject* check_multicast_handle(Collector& out, const Model& model, Handle handle,
                                              const Facts& facts);

/// Mask of the devices that were added, as far as is known.
inline std::uint64_t added_devices(const MulticastObject& object, const Facts& facts) {
  return facts.multicast.team.value_or(object.added);
}
/// How many devices were added, as far as is known.
inline unsigned added_count(const MulticastObject& object, const Facts& facts) {
  return static_cast<unsigned>(std::popcount(added_devices(object, facts))) +
         facts.multicast.hidden;
}
/// Whether the known team is complete: no other process can have added a device unseen.
inline bool team_certain(const MulticastObject& object, const Facts& facts) {
  return facts.multicast.team.has_value() || !object.shared;
}
inline bool in_team(std::uint64_t team, int device) {
  return device >= 0 && device < 63 && (team >> device & 1) != 0;
}
inline bool device_exists(const Model& model, int device) {
  const int count = model.platform().device_count;
  return device >= 0 && (count < 0 || device < count);
}

/// Checks that every device of the team was added.
void check_all_added(Collector& out, const MulticastObject& object, const Facts& facts);

/// Checks that the devices of the team are in one clique, as far as the driver tells.
void check_one_clique(Collector& out, const Model& model, const MulticastObject& object,
                      const Facts& facts);

/// The number of bytes of which addresses and sizes in a mapping of `a` must be multiples; 0
/// unknown.
inline Size mapping_granularity(const Model& model, const Allocation* a) {
  if (a && !model.multicasts().empty()) {
    const MulticastObject* object = model.multicast(a->handle);
    if (object && object->granularity) return object->granularity;
  }
  return a && a->granularity ? a->granularity : model.platform().reserve_granularity;
}

/// Checks the offset and size of a mapping of a multicast object.
void check_multicast_map(Collector& out, const Model& model, const MulticastObject& object,
                         const calls::MemMap& call, const Facts& facts);

/// Checks that memory which is about to end is not bound to any multicast object.
void check_unbound(Collector& out, const Model& model, const Allocation& ends);

/// Checks a copy or fill of [offset, offset + size) of a multicast object; false if it found a
/// mistake.
bool check_multicast_touch(Collector& out, const Model& model, const Mapping& mapping,
                           const std::string& parameter, bool write, Size offset, Size size);

[[gnu::cold]] ObjectRef ref(const MulticastObject& object);
[[gnu::cold]] ObjectRef ref(const MulticastBinding& binding);

}  // namespace cuvmm::detail
