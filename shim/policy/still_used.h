// SPDX-License-Identifier: Apache-2.0
// Work that may still need what a call takes away.
#pragma once

#include "shim/policy/policy.h"

namespace cuvmm::shim {

/// What is kept of a call that takes memory away: the work that may still need it.
using StillUsed = Seldom<FoundWork>;

/// Asks for the work that uses what a call takes away.
template <class CallStruct>
void find_work(Desk& desk, Address base, Size size, StillUsed& kept, Step<CallStruct>& step) {
  if (!desk.work.active()) return;
  desk.work.find({{base, size}}, kept);
  if (!kept.empty()) [[unlikely]]
    step.facts.write().order = {kept.begin(), kept.size()};
}

/// The same for an object that was watched (WorkRoom::watch()).
template <class CallStruct>
void find_work_of(Desk& desk, std::uint64_t object, StillUsed& kept, Step<CallStruct>& step,
                  const WorkRoom::Ticket* ordered_by = nullptr) {
  for (const WorkRoom::Watched& watched : desk.work.watched(object)) {
    desk.work.find({watched.memory, watched.since, ordered_by}, kept);
  }
  if (!kept.empty()) step.facts.write().order = {kept.begin(), kept.size()};
}

}  // namespace cuvmm::shim
