// SPDX-License-Identifier: Apache-2.0
// Work that may still need what a call takes away.
#pragma once

#include <algorithm>
#include <vector>

#include "rulebook/order/check_work.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

/// What is kept of a call that takes memory away: the work that may still need it.
using StillUsed = Seldom<FoundWork>;

/// The birth of memory whose address the driver has just returned: uses of its former owners have
/// lower numbers, because they were numbered before those gave it up.
inline std::uint64_t born_now(const Desk& desk) {
  return desk.numbers.load(std::memory_order_relaxed) + 1;
}

/// The mappings of the range, each with its birth and what lies before it. Takes the lock.
inline std::vector<QueuedWork::Taken> mappings_of(Desk& desk, Address base, Size size) {
  std::vector<QueuedWork::Taken> mappings;
  const Locked lock(desk.mutex);
  const Model& model = desk.books.model;
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

/// Where memory ends, other memory may begin of which nobody told the model: variables of modules,
/// say. The driver knows.
[[gnu::cold, gnu::noinline]] inline void drop_beginnings(Desk& desk, StillUsed& kept) {
  kept.erase_if(
      [&](const FoundWork& one) { return one.is_end && desk.driver.holds_memory(one.base); });
}

/// Asks for the work that uses mappings of the range.
[[gnu::cold, gnu::noinline]] inline void find_work_of_mappings(Desk& desk, Address base, Size size,
                                                               StillUsed& kept) {
  if (!desk.work.may_be_used({base, size})) return;
  for (const QueuedWork::Taken& mapping : mappings_of(desk, base, size)) {
    desk.work.find(mapping, kept);
  }
  drop_beginnings(desk, kept);
}

/// Asks for the work that uses what a call takes away.
template <class CallStruct>
void find_work(Desk& desk, Address base, Size size, StillUsed& kept, Step<CallStruct>& step) {
  if (!desk.work.active() || !desk.work.has_pending()) [[likely]]
    return;
  find_work_of_mappings(desk, base, size, kept);
  if (!kept.empty()) [[unlikely]]
    step.facts.write().order = {kept.begin(), kept.size()};
}

/// What is asked for when an object's memory is taken away; that of graphs is none of the model's.
/// Takes the lock.
inline QueuedWork::Taken taken(Desk& desk, const Watched& watched,
                               const QueuedWork::Ticket* ordered_by) {
  constexpr Size kJustBehind = 4096 + 1;
  const UsedRange& memory = watched.memory;
  const Address end = memory.base + memory.size;
  QueuedWork::Taken taken{memory, watched.since, ordered_by};
  {
    const Locked lock(desk.mutex);
    taken.before = memory_before(desk.books.model, memory.base);
    taken.end_since = end_since(desk.books.model, end);
  }
  const UsedRange before = desk.work.watched().ends_at(memory.base);
  if (taken.before.from == 0 && before.size != 0) taken.before = {before.base, true};
  if (desk.work.watched().begins_behind(end, kJustBehind)) taken.end_since = AskedMemory::kNever;
  return taken;
}

/// The same for an object that was watched (QueuedWork::watch()).
template <class CallStruct>
void find_work_of(Desk& desk, std::uint64_t object, StillUsed& kept, Step<CallStruct>& step,
                  const QueuedWork::Ticket* ordered_by = nullptr) {
  for (const Watched& watched : desk.work.watched().of(object)) {
    if (!desk.work.may_be_used(watched.memory)) continue;
    desk.work.find(taken(desk, watched, ordered_by), kept);
  }
  drop_beginnings(desk, kept);
  if (!kept.empty()) step.facts.write().order = {kept.begin(), kept.size()};
}

}  // namespace cuvmm::shim
