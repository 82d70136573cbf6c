// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of multicast: rulebook/rules/multicast.def, line by line.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

const MulticastTeam* Reference::team_of(const Named& named) const {
  const int team = memories_[static_cast<std::size_t>(named.memory)].team;
  return team < 0 ? nullptr : &teams_[static_cast<std::size_t>(team)];
}

const MulticastTeam* Reference::team_at(const Cell& cell) const {
  const Mapped& m = mappings_[static_cast<std::size_t>(cell.mapping)];
  return team_of(handles_[static_cast<std::size_t>(m.handle)]);
}

bool Reference::holds(const MulticastTeam::Binding& b) const {
  return b.live && handles_[static_cast<std::size_t>(b.handle)].alive();
}

bool Reference::bound(int handle) const {
  for (const Named& named : handles_) {
    const MulticastTeam* team = named.alive() ? team_of(named) : nullptr;
    if (!team) continue;
    for (const auto& b : team->bindings) {
      if (b.handle == handle && holds(b)) return true;
    }
  }
  return false;
}

const MulticastTeam* Reference::judge_team(Judgement& out, std::uint64_t value) const {
  const Named* named = judge_handle(out, value, Rule::kMcHandleNonzero, Rule::kMcHandleValid,
                                    Rule::kMcHandleAlive, Rule::kMcHandleReferenced);
  if (!named) return nullptr;
  const MulticastTeam* team = team_of(*named);
  if (!team) out.add(Rule::kMcHandleKind);
  if (team && team->shared) out.loose = true;
  return team;
}

Judgement Reference::judge(const calls::MulticastCreate& call, Actor) const {
  Judgement out;
  if (machine_.devices < 2) out.add(Rule::kMcCreateSupported);
  if (!call.mcHandle) out.add(Rule::kMcCreateHandleNonnull);
  if (!call.prop) {
    out.add(Rule::kMcCreatePropNonnull);
    return out;
  }
  const auto& prop = *call.prop;
  if (prop.numDevices == 0 || prop.numDevices == ~0u) out.add(Rule::kMcCreateDevices);
  if (prop.size == 0) out.add(Rule::kMcCreateSizeNonzero);
  if (!aligned(prop.size)) out.add(Rule::kMcCreateSizeGranularity);
  if (prop.handleTypes > 15) out.add(Rule::kMcCreateHandleTypes);
  if (prop.flags) out.add(Rule::kMcCreateFlagsZero);
  return out;
}

const char* Reference::accept(const calls::MulticastCreate& call) {
  const Named* other = handle(*call.mcHandle);
  const bool taken = other && other->alive();
  CUmemAllocationProp prop{};
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(call.prop->handleTypes);
  memories_.push_back({call.prop->size, prop, {}, static_cast<int>(teams_.size())});
  teams_.push_back({call.prop->numDevices,
                    call.prop->size,
                    static_cast<unsigned>(call.prop->handleTypes),
                    {},
                    {}});
  handles_.push_back({*call.mcHandle, static_cast<int>(memories_.size()) - 1, 1, 0, false});
  return *call.mcHandle == 0 ? "the handle is 0" : taken ? "the handle is one in use" : nullptr;
}

Judgement Reference::judge(const calls::MulticastAddDevice& call, Actor) const {
  Judgement out;
  const MulticastTeam* team = judge_team(out, call.mcHandle);
  if (!valid_device(call.dev)) {
    out.add(Rule::kMcAddDeviceExists);
  } else if (team && team->member(call.dev)) {
    out.add(Rule::kMcAddUnique);
  } else if (team && team->complete()) {
    out.add(Rule::kMcAddLimit);
  }
  return out;
}

const char* Reference::accept(const calls::MulticastAddDevice& call) {
  const Named* named = handle(call.mcHandle);
  const MulticastTeam* team = named ? team_of(*named) : nullptr;
  if (!team) return "a device was added to nothing";
  const_cast<MulticastTeam*>(team)->added.push_back(call.dev);
  return nullptr;
}

void Reference::judge_bind(Judgement& out, const Bind& bind) const {
  const MulticastTeam* team = judge_team(out, bind.object);
  if (bind.flags) out.add(Rule::kMcBindFlagsZero);
  if (bind.size == 0) out.add(Rule::kMcBindSizeNonzero);
  if (!aligned(bind.size)) out.add(Rule::kMcBindSizeAligned);
  if (!aligned(bind.offset)) out.add(Rule::kMcBindOffsetAligned);
  if (!aligned(bind.memory_at)) out.add(Rule::kMcBindMemoryAligned);
  if (team && !inside(bind.offset, bind.size, team->size)) out.add(Rule::kMcBindInsideObject);
  if (team && !team->complete()) out.add(Rule::kMcAllAdded);
  if (!bind.memory) return;
  const Memory& memory = memories_[static_cast<std::size_t>(bind.memory->memory)];
  if (!inside(bind.memory_offset, bind.size, memory.size)) out.add(Rule::kMcBindInsideMemory);
  if (memory.team >= 0) {
    out.add(Rule::kMcBindMemoryKind);
    return;
  }
  const bool on_device = static_cast<int>(memory.prop.location.type) == 1;
  if (!on_device || (team && !team->member(memory.prop.location.id))) out.add(Rule::kMcBindMember);
  if (!team) return;
  if (team->types && static_cast<unsigned>(memory.prop.requestedHandleTypes) == 0) {
    out.add(Rule::kMcBindShareable);
  }
  for (const auto& b : team->bindings) {
    if (!on_device || !holds(b) || b.device != memory.prop.location.id || bind.size == 0) continue;
    const bool meet = b.offset < bind.offset ? bind.offset - b.offset < b.size
                                             : b.offset - bind.offset < bind.size;
    if (meet) out.add(Rule::kMcBindVacant);
  }
}

Judgement Reference::judge(const calls::MulticastBindMem& call, Actor) const {
  Judgement out;
  const Named* named =
      judge_handle(out, call.memHandle, Rule::kMcBindMemoryNonzero, Rule::kMcBindMemoryValid,
                   Rule::kMcBindMemoryAlive, Rule::kMcBindMemoryReferenced);
  judge_bind(out, {call.mcHandle, call.mcOffset, call.size, call.flags, named, call.memOffset,
                   call.memOffset});
  return out;
}

Judgement Reference::judge(const calls::MulticastBindAddr& call, Actor) const {
  Judgement out;
  const Cell* cell = call.memptr ? mapped_at(call.memptr) : nullptr;
  const Mapped* m = cell ? &mappings_[static_cast<std::size_t>(cell->mapping)] : nullptr;
  if (call.memptr == 0) {
    out.add(Rule::kMcBindMemoryNonzero);
  } else if (!m) {
    out.add(Rule::kMcBindMemoryKind);
  }
  judge_bind(out, {call.mcHandle, call.mcOffset, call.size, call.flags,
                   m ? &handles_[static_cast<std::size_t>(m->handle)] : nullptr, call.memptr,
                   m ? call.memptr - m->base + m->offset : 0});
  // A part of a multicast object may be mapped.
  const bool past = m && call.size > m->size - (call.memptr - m->base);
  if (past && !out.breaks(Rule::kMcBindInsideMemory)) out.add(Rule::kMcBindInsideMemory);
  return out;
}

const char* Reference::bind(const Bind& bind) {
  const Named* named = handle(bind.object);
  const MulticastTeam* team = named ? team_of(*named) : nullptr;
  if (!team || !bind.memory) return "nothing was bound, or to nothing";
  const Memory& memory = memories_[static_cast<std::size_t>(bind.memory->memory)];
  const_cast<MulticastTeam*>(team)->bindings.push_back(
      {memory.prop.location.id, bind.offset, bind.size,
       static_cast<int>(bind.memory - handles_.data()), bind.memory_offset, true});
  return nullptr;
}

const char* Reference::accept(const calls::MulticastBindMem& call) {
  return bind({call.mcHandle, call.mcOffset, call.size, call.flags, handle(call.memHandle),
               call.memOffset, call.memOffset});
}

const char* Reference::accept(const calls::MulticastBindAddr& call) {
  const Cell* cell = mapped_at(call.memptr);
  if (!cell) return "memory was bound that is not mapped";
  const Mapped& m = mappings_[static_cast<std::size_t>(cell->mapping)];
  return bind({call.mcHandle, call.mcOffset, call.size, call.flags,
               &handles_[static_cast<std::size_t>(m.handle)], call.memptr,
               call.memptr - m.base + m.offset});
}

Judgement Reference::judge(const calls::MulticastUnbind& call, Actor) const {
  Judgement out;
  const MulticastTeam* team = judge_team(out, call.mcHandle);
  if (!valid_device(call.dev) || (team && !team->member(call.dev))) {
    out.add(Rule::kMcUnbindDevice);
  }
  if (call.size == 0) out.add(Rule::kMcUnbindSizeNonzero);
  if (!aligned(call.mcOffset) || !aligned(call.size)) out.add(Rule::kMcUnbindAligned);
  if (!team) return out;
  if (!inside(call.mcOffset, call.size, team->size)) out.add(Rule::kMcUnbindInsideObject);
  bool starts = false, exact = false, meets = false;
  for (const auto& b : team->bindings) {
    if (!holds(b) || b.device != call.dev) continue;
    starts = starts || b.offset == call.mcOffset;
    exact = exact || (b.offset == call.mcOffset && b.size == call.size);
    meets = meets || (b.offset < call.mcOffset ? call.mcOffset - b.offset < b.size
                                               : b.offset - call.mcOffset < call.size);
  }
  if (!starts) out.add(Rule::kMcUnbindBound);
  if (!exact && meets) out.add(Rule::kMcUnbindExact);
  return out;
}

const char* Reference::accept(const calls::MulticastUnbind& call) {
  const Named* named = handle(call.mcHandle);
  MulticastTeam* team = named ? const_cast<MulticastTeam*>(team_of(*named)) : nullptr;
  if (!team) return "something was unbound from nothing";
  for (auto& b : team->bindings) {
    if (b.device == call.dev && b.offset == call.mcOffset) b.live = false;
  }
  return nullptr;
}

Judgement Reference::judge(const calls::MulticastGetGranularity& call, Actor) const {
  Judgement out;
  if (!call.granularity) out.add(Rule::kMcGranularityOutNonnull);
  if (static_cast<unsigned>(call.option) > 1) out.add(Rule::kMcGranularityOption);
  if (!call.prop) {
    out.add(Rule::kMcGranularityPropNonnull);
    return out;
  }
  const auto& prop = *call.prop;
  if (prop.numDevices == 0 || prop.numDevices == ~0u || prop.handleTypes > 15 || prop.flags) {
    out.add(Rule::kMcGranularityPropValid);
  }
  return out;
}

const char* Reference::accept(const calls::MulticastGetGranularity& call) {
  return *call.granularity == kGranule ? nullptr : "the granularity is not 2 MiB";
}

void Reference::judge_map(Judgement& out, const calls::MemMap& call,
                          const MulticastTeam& team) const {
  if (team.shared) out.loose = true;
  if (!aligned(call.offset)) {
    out.add(Rule::kMcMapOffsetAligned);
  }
  if (call.offset) out.add(Rule::kMcMapOffsetZero);
  if (!inside(call.offset, call.size, team.size)) out.add(Rule::kMapBounds);
  if (!team.complete()) out.add(Rule::kMcAllAdded);
}

void Reference::judge_touch(Judgement& out, const MulticastTeam& team, const Cell& cell,
                            std::uint64_t at, std::uint64_t size, bool write) const {
  if (team.shared) out.loose = true;
  if (!write) {
    out.add(Rule::kMcNoRead);
    return;
  }
  const Mapped& m = mappings_[static_cast<std::size_t>(cell.mapping)];
  const std::uint64_t offset = at - m.base + m.offset;
  for (const int device : team.added) {
    // A touch lies in one granule, and bindings have whole granules.
    const bool covered =
        std::any_of(team.bindings.begin(), team.bindings.end(), [&](const auto& b) {
          return holds(b) && b.device == device && offset >= b.offset && offset - b.offset < b.size;
        });
    if (!covered && size != 0) out.add(Rule::kMcAllBound);
  }
}

void Reference::store(const MulticastTeam& team, std::uint64_t offset, const unsigned char* bytes,
                      std::uint64_t size, bool known) {
  for (const auto& b : team.bindings) {
    if (!holds(b) || offset < b.offset || offset - b.offset >= b.size) continue;
    const Named& named = handles_[static_cast<std::size_t>(b.handle)];
    memories_[static_cast<std::size_t>(named.memory)].writes.push_back(
        {b.memory_offset + (offset - b.offset), {bytes, bytes + size}, known});
  }
}

}  // namespace cuvmm::fuzz
