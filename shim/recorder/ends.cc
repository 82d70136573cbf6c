// SPDX-License-Identifier: Apache-2.0
#include "shim/recorder/ends.h"

#include <new>

#include "shim/guard/guard.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

namespace {

using last_calls::Object;
using last_calls::ObjectKind;

int device_of(const CUmemLocation& location) {
  return static_cast<int>(location.type) == kLocationDevice ? location.id : -1;
}

Object object_of(const Reservation& r) {
  return {ObjectKind::kReservation, -1, r.base, r.size, r.made.call};
}
Object object_of(const Mapping& m) {
  return {ObjectKind::kMapping, -1, m.base, m.size, m.made.call};
}
Object object_of(const Allocation& a) {
  return {ObjectKind::kAllocation, a.prop_known ? device_of(a.prop.location) : -1, a.handle, a.size,
          a.made.call};
}
Object object_of(const PlainMemory& m) {
  return {ObjectKind::kMemory, m.device, m.base, m.size, m.made.call};
}
Object object_of(const Pool& p) {
  return {ObjectKind::kPool, device_of(p.location), p.handle, 0, p.made.call};
}
Object object_of(const PoolMemory& m) {
  return {ObjectKind::kPoolMemory, device_of(m.location), m.base, m.size, m.made.call};
}
Object object_of(const IpcOpen& o) {
  return {ObjectKind::kIpcMemory, o.device, o.pointer, o.size, o.made.call};
}
Object object_of(const ExternalMemory& m) {
  return {ObjectKind::kExternalMemory, m.device, m.handle, m.size, m.made.call};
}
Object object_of(const ExternalBuffer& b) {
  return {ObjectKind::kExternalBuffer, b.device, b.base, b.size, b.made.call};
}

[[gnu::cold, gnu::noinline]] void need_stack(std::uint32_t stack) {
  g_last_calls.note_stack(stack, stack_frames(stack));
}

template <class Known>
[[gnu::always_inline]] inline void note_one(const Known& known, Origin at) {
  if (!g_last_calls.knows_stack(at.stack)) [[unlikely]]
    need_stack(at.stack);
  Object object = object_of(known);
  object.ended = at.call;
  object.stack = at.stack;
  g_last_calls.note_end(t_state.call_place, object);
}

// Notes the ends that one call caused; of a long list only the first are noted.
class EndNotes {
 public:
  explicit EndNotes(Origin at) : at_(at) {}

  template <class Objects>
  [[gnu::cold, gnu::noinline]] void all(const Objects& objects) {
    for (const auto& object : objects) {
      if (left_ == 0) return;
      --left_;
      one(object);
    }
  }
  template <class Known>
  [[gnu::noinline]] void one(const Known& known) const {
    note_one(known, at_);
  }

 private:
  Origin at_;
  unsigned left_ = 256;
};

[[gnu::cold, gnu::noinline]] void note_rare(const RarelyRetired& retired, EndNotes& notes) {
  notes.all(retired.memory);
  notes.all(retired.pool_memory);
  notes.all(retired.pools);
  for (const IpcOpen& open : retired.ipc_opens) {
    if (open.count <= 1) notes.one(open);
  }
  if (retired.external.buffer) notes.one(*retired.external.buffer);
  if (retired.external.memory) notes.one(*retired.external.memory);
  notes.all(retired.context.memory);
  notes.all(retired.context.pool_memory);
  notes.all(retired.context.pools);
  notes.all(retired.context.ipc_opens);
  notes.all(retired.context.buffers);
  notes.all(retired.context.memories);
}

}  // namespace

void note_end(const Reservation& ended, Origin at) noexcept { note_one(ended, at); }
void note_end(const Mapping& ended, Origin at) noexcept { note_one(ended, at); }
void note_end(const Allocation& ended, Origin at) noexcept { note_one(ended, at); }

void note_each_end(const Retired& retired, Origin at) noexcept {
  EndNotes notes(at);
  notes.all(retired.mappings);
  notes.all(retired.reservations);
  // The handle is released; the mappings of the memory stay.
  if (retired.released) notes.all(retired.allocations);
  if (retired.rare) [[unlikely]]
    note_rare(*retired.rare, notes);
}

void note_living(const Model& model) noexcept {
  for (const auto& [base, mapping] : model.mappings()) {
    Object object = object_of(mapping);
    const Allocation* const memory = model.allocation(mapping.handle);
    if (memory && memory->prop_known) object.device = device_of(memory->prop.location);
    g_last_calls.note_live(object);
  }
  const auto all = [](const auto& objects) {
    for (const auto& [key, object] : objects) g_last_calls.note_live(object_of(object));
  };
  all(model.memory().all());
  all(model.pools().memory());
  all(model.ipc().opens());
  all(model.external().buffers());
  all(model.reservations());
  Guard* const guard = g_guard.load(std::memory_order_acquire);
  if (!guard) return;
  try {
    guard->each_forbidden([](Guard::Part part, std::uint64_t base, std::uint64_t size) {
      constexpr ObjectKind kKinds[] = {ObjectKind::kGuardBefore, ObjectKind::kGuardBehind,
                                       ObjectKind::kQuarantined};
      g_last_calls.note_live({kKinds[static_cast<int>(part)], -1, base, size});
    });
  } catch (const std::bad_alloc&) {
    // Then the address is explained without these objects.
  }
}

}  // namespace cuvmm::shim
