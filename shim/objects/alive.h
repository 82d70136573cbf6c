// SPDX-License-Identifier: Apache-2.0
// Objects that still exist at exit and are no leaks: memory that is mapped and referenced, and its
// address space.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "rulebook/check/check.h"
#include "rulebook/model/model.h"

namespace cuvmm::shim {

struct Alive {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reservations = 0;
};

/// The other threads of this process, in ascending order, without those that are exiting; empty if
/// the kernel does not tell. Called with the session's lock held, it includes every running thread
/// that made an object of the model. Threads in `asleep`, in ascending order, are left out.
std::vector<std::uint32_t> other_threads(std::span<const std::uint32_t> asleep = {});

/// Calls allocation(a) and reservation(r) for each that is not a leak.
template <class OfAllocation, class OfReservation>
void each_alive(const Model& model, const StillRunning& running, OfAllocation&& allocation,
                OfReservation&& reservation) {
  for (const auto& [handle, a] : model.allocations()) {
    if (!leaks(model, a, running)) allocation(a);
  }
  std::set<Address> given_up;
  for (const Abandoned& abandoned : abandoned_reservations(model, running)) {
    for (const Reservation* r : abandoned.reservations) given_up.insert(r->base);
  }
  for (const auto& [base, r] : model.reservations()) {
    if (!given_up.contains(base)) reservation(r);
  }
}

/// Counts the objects that are not leaks.
Alive count_alive(const Model& model);

}  // namespace cuvmm::shim
