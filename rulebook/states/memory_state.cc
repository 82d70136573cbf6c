// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/memory_state.h"

#include <iterator>

#include "rulebook/objects/objects.h"

namespace cuvmm {

const char* words(PlainMemory::Kind kind) {
  switch (kind) {
    case PlainMemory::Kind::kDevice:
      return "memory of cuMemAlloc";
    case PlainMemory::Kind::kPitched:
      return "memory of cuMemAllocPitch";
    case PlainMemory::Kind::kManaged:
      return "managed memory";
    case PlainMemory::Kind::kHost:
      return "host memory that the driver allocated";
    case PlainMemory::Kind::kRegistered:
      return "host memory of the program that was registered";
  }
  return "?";
}

namespace {

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

const PlainMemory* MemoryState::at(std::uint64_t address) const {
  auto found = memory_.upper_bound(address);
  if (found == memory_.begin()) return nullptr;
  --found;
  return address - found->first < found->second.size ? &found->second : nullptr;
}

const PlainMemory* MemoryState::first_in(std::uint64_t base, std::uint64_t size) const {
  if (size == 0) return nullptr;
  if (const PlainMemory* holds = at(base)) return holds;
  const auto next = memory_.upper_bound(base);
  return next != memory_.end() && next->first - base < size ? &next->second : nullptr;
}

bool MemoryState::consistent() const {
  if (memory_.size() > 64) return true;  // larger states would make each call slow
  const PlainMemory* before = nullptr;
  for (const auto& [base, one] : memory_) {
    if (base != one.base || one.size == 0) return false;
    if (before && base - before->base < before->size) return false;
    before = &one;
  }
  return true;
}

void MemoryState::add(std::uint64_t base, std::uint64_t size, Kind kind, const Facts& facts,
                      Origin at) {
  if (base == 0 || size == 0) return;
  // Memory that is still recorded at this place has ended by a route that cuvmm did not see.
  while (const PlainMemory* stale = first_in(base, size)) memory_.erase(stale->base);
  memory_[base] = {.base = base,
                   .size = size,
                   .context = facts.place.context_id,
                   .device = facts.place.device,
                   .kind = kind,
                   .made = at};
}

void MemoryState::put_back(const PlainMemory& memory) {
  if (!first_in(memory.base, memory.size)) memory_.try_emplace(memory.base, memory);
}

// --- Before the call goes to the driver

template <class Ends>
void MemoryState::take(std::uint64_t base, const Surroundings& around, Retired& retired,
                       Ends ends) {
  around.ends.note(ObjectRef::Kind::kMemory, base);
  const auto found = memory_.find(base);
  if (found == memory_.end() || !ends(found->second)) return;
  retired.more().memory.push_back(found->second);
  memory_.erase(found);
}

void MemoryState::begin(const calls::MemFree& call, Origin, const Surroundings& around,
                        Retired& retired) {
  take(call.dptr, around, retired, [](const PlainMemory& m) { return m.freed_as_device(); });
}

void MemoryState::begin(const calls::MemFreeAsync& call, Origin, const Surroundings& around,
                        Retired& retired) {
  take(call.dptr, around, retired, [](const PlainMemory& m) { return m.freed_as_device(); });
}

void MemoryState::begin(const calls::MemFreeHost& call, Origin, const Surroundings& around,
                        Retired& retired) {
  take(number_of(call.p), around, retired,
       [](const PlainMemory& m) { return m.kind == Kind::kHost; });
}

void MemoryState::begin(const calls::MemHostUnregister& call, Origin, const Surroundings& around,
                        Retired& retired) {
  take(number_of(call.p), around, retired,
       [](const PlainMemory& m) { return m.kind == Kind::kRegistered; });
}

void MemoryState::begin(const calls::StreamDestroy& call, Origin, const Surroundings&,
                        Retired& retired) {
  retired.more().stream = number_of(call.hStream);
}

void MemoryState::begin(const Ending& ending, Origin, const Surroundings&, Retired& retired) {
  retired.more().context.any = ending.any;
  move_out(memory_, retired.more().context.memory,
           [&](const PlainMemory& m) { return ending.ends(m.context, m.device); });
}

// --- After the driver accepted the call

void MemoryState::confirm(const calls::MemAlloc& call, const Facts& facts, Origin at,
                          const Surroundings&) {
  add(*call.dptr, call.bytesize, Kind::kDevice, facts, at);
}

void MemoryState::confirm(const calls::MemAllocPitch& call, const Facts& facts, Origin at,
                          const Surroundings&) {
  // The driver alone decides about padding behind the last row.
  add(*call.dptr, *call.pPitch * call.Height, Kind::kPitched, facts, at);
}

void MemoryState::confirm(const calls::MemAllocManaged& call, const Facts& facts, Origin at,
                          const Surroundings&) {
  add(*call.dptr, call.bytesize, Kind::kManaged, facts, at);
}

void MemoryState::confirm(const calls::MemAllocHost& call, const Facts& facts, Origin at,
                          const Surroundings&) {
  add(number_of(*call.pp), call.bytesize, Kind::kHost, facts, at);
}

void MemoryState::confirm(const calls::MemHostAlloc& call, const Facts& facts, Origin at,
                          const Surroundings&) {
  add(number_of(*call.pp), call.bytesize, Kind::kHost, facts, at);
}

void MemoryState::confirm(const calls::MemHostRegister& call, const Facts& facts, Origin at,
                          const Surroundings&) {
  add(number_of(call.p), call.bytesize, Kind::kRegistered, facts, at);
}

void MemoryState::confirm(const RarelyRetired& taken, Origin at, const Surroundings& around) {
  const auto bury = [&](const PlainMemory& m) {
    around.tombstones.add({ObjectRef::Kind::kMemory, m.base, m.size, m.made, at});
  };
  for (const PlainMemory& m : taken.memory) bury(m);
  for (const PlainMemory& m : taken.context.memory) {
    if (m.ends_with_context()) bury(m);
    if (taken.context.any || m.context == 0) continue;
    Together& all = ended_with_context_[{m.kind, m.made.stack}];
    if (all.count++ == 0) {
      all.first = m.made;
      all.base = m.base;
    }
    all.size += m.size;
  }
  if (taken.stream != 0) {
    around.tombstones.add({ObjectRef::Kind::kStream, taken.stream, 0, {}, at});
  }
}

// --- After the driver refused the call

void MemoryState::undo(const RarelyRetired& taken, Origin, const Surroundings& around) {
  for (const PlainMemory& m : taken.memory) put_back(m);
  for (const PlainMemory& m : taken.context.memory) {
    if (!around.ends.contains(ObjectRef::Kind::kMemory, m.base)) put_back(m);
  }
}

}  // namespace cuvmm
