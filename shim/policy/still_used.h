// SPDX-License-Identifier: Apache-2.0
// Finds work that may still need the memory that a call takes away.
#pragma once

#include <algorithm>
#include <vector>

#include "rulebook/order/check_work.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

/// The work that may still need the memory that a call takes away.
using StillUsed = RareList<FoundWork>;

/// The birth of memory whose address the driver has just returned: uses by former owners of the
/// address have lower numbers, because those uses were numbered before the owners gave the address
/// up.
inline std::uint64_t born_now(const PolicyResources& resources) {
  return resources.numbers.load(std::memory_order_relaxed) + 1;
}

/// The mappings of the range, each with its birth and the memory that lies before it. Takes the
/// lock.
inline std::vector<QueuedWork::Taken> mappings_of(PolicyResources& resources, Address base,
                                                  Size size) {
  std::vector<QueuedWork::Taken> mappings;
  const Locked lock(resources.mutex);
  const Model& model = resources.history.model;
  for (auto at = model.first_mapping_after(base); at != model.mappings().end(); ++at) {
    const Mapping& mapping = at->second;
    if (mapping.base >= base && mapping.base - base >= size) break;
    const Address first = std::max(mapping.base, base);
    const Size before = first - base;
    const Size rest = mapping.size - (first - mapping.base);
    mappings.push_back({.memory = {first, std::min(rest, size - before)},
                        .since = mapping.made.call,
                        .before = memory_before(model, first),
                        .end_since = end_since(model, first + std::min(rest, size - before))});
  }
  return mappings;
}

/// Where memory ends, other memory may begin that the model does not know: variables of modules,
/// for example. The driver knows such memory.
[[gnu::cold, gnu::noinline]] inline void drop_beginnings(PolicyResources& resources,
                                                         StillUsed& state) {
  state.erase_if(
      [&](const FoundWork& one) { return one.is_end && resources.driver.holds_memory(one.base); });
}

/// Looks for the work that uses mappings of the range.
[[gnu::cold, gnu::noinline]] inline void find_work_of_mappings(PolicyResources& resources,
                                                               Address base, Size size,
                                                               StillUsed& state) {
  if (!resources.work.may_be_used({base, size})) return;
  for (const QueuedWork::Taken& mapping : mappings_of(resources, base, size)) {
    resources.work.find(mapping, state);
  }
  drop_beginnings(resources, state);
}

/// Looks for the work that uses the memory that a call takes away.
template <class CallStruct>
void find_work(PolicyResources& resources, Address base, Size size, StillUsed& state,
               Step<CallStruct>& step) {
  if (!resources.work.active() || !resources.work.has_pending()) [[likely]]
    return;
  find_work_of_mappings(resources, base, size, state);
  if (!state.empty()) [[unlikely]]
    step.facts.write().order = {state.begin(), state.size()};
}

/// The description of an object's memory that a call takes away; the model does not know memory of
/// graphs. Takes the lock.
inline QueuedWork::Taken taken(PolicyResources& resources, const Watched& watched,
                               const QueuedWork::Ticket* ordered_by) {
  constexpr Size kJustBehind = 4096 + 1;
  const UsedRange& memory = watched.memory;
  const Address end = memory.base + memory.size;
  QueuedWork::Taken taken{memory, watched.since, ordered_by};
  {
    const Locked lock(resources.mutex);
    taken.before = memory_before(resources.history.model, memory.base);
    taken.end_since = end_since(resources.history.model, end);
  }
  const UsedRange before = resources.work.watched().ends_at(memory.base);
  if (taken.before.from == 0 && before.size != 0) taken.before = {before.base, true};
  if (resources.work.watched().begins_behind(end, kJustBehind))
    taken.end_since = AskedMemory::kNever;
  return taken;
}

/// find_work() for an object that is watched (QueuedWork::watch()).
template <class CallStruct>
void find_work_of(PolicyResources& resources, std::uint64_t object, StillUsed& state,
                  Step<CallStruct>& step, const QueuedWork::Ticket* ordered_by = nullptr) {
  for (const Watched& watched : resources.work.watched().of(object)) {
    if (!resources.work.may_be_used(watched.memory)) continue;
    resources.work.find(taken(resources, watched, ordered_by), state);
  }
  drop_beginnings(resources, state);
  if (!state.empty()) step.facts.write().order = {state.begin(), state.size()};
}

}  // namespace cuvmm::shim
