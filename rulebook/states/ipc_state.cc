// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/ipc_state.h"

namespace cuvmm {

const IpcExport* IpcState::exported(const IpcBytes& bytes) const {
  for (const auto& [base, e] : exports_) {
    if (e.bytes == bytes) return &e;
  }
  return nullptr;
}

const IpcOpen* IpcState::open_of(std::uint64_t pointer) const {
  const auto found = opens_.find(pointer);
  return found == opens_.end() ? nullptr : &found->second;
}

const IpcOpen* IpcState::open_at(std::uint64_t address) const {
  auto found = opens_.upper_bound(address);
  if (found == opens_.begin()) return nullptr;
  --found;
  const bool inside = found->first == address || address - found->first < found->second.size;
  return inside ? &found->second : nullptr;
}

// --- Before the call goes to the driver

void IpcState::begin(const calls::MemFree& call, Origin, const Surroundings&, Retired& retired) {
  const auto found = exports_.find(call.dptr);
  if (found == exports_.end()) return;
  retired.more().ipc_exports.push_back(found->second);
  exports_.erase(found);
}

void IpcState::begin(const calls::IpcCloseMemHandle& call, Origin, const Surroundings& around,
                     Retired& retired) {
  around.ends.note(ObjectRef::Kind::kIpcMemory, call.dptr);
  const auto found = opens_.find(call.dptr);
  if (found == opens_.end()) return;
  retired.more().ipc_opens.push_back(found->second);
  if (--found->second.count == 0) opens_.erase(found);
}

void IpcState::begin(const Ending& ending, Origin, const Surroundings&, Retired& retired) {
  EndedContext& taken = retired.more().context;
  // All exports, because cuvmm does not know the context of the memory behind an exported handle.
  move_out(exports_, taken.ipc_exports, [](const IpcExport&) { return true; });
  move_out(opens_, taken.ipc_opens,
           [&](const IpcOpen& o) { return ending.ends(o.context, o.device); });
}

// --- After the driver accepted the call

void IpcState::confirm(const calls::IpcGetMemHandle& call, const Facts& facts, Origin at,
                       const Surroundings&) {
  const std::uint64_t base = facts.ipc.base ? facts.ipc.base : call.dptr;
  IpcExport made{.bytes = ipc_bytes(*call.pHandle), .base = base, .made = at};
  auto [it, inserted] = exports_.try_emplace(base, made);
  // Other bytes for the same address: the old memory ended by a route that cuvmm did not see.
  if (!inserted && it->second.bytes != made.bytes) it->second = made;
}

void IpcState::confirm(const calls::IpcOpenMemHandle& call, const Facts& facts, Origin at,
                       const Surroundings& around) {
  const std::uint64_t pointer = *call.pdptr;
  around.tombstones.reuse(ObjectRef::Kind::kIpcMemory, pointer, facts.ipc.size);
  IpcOpen& open = opens_[pointer];
  const IpcBytes bytes = ipc_bytes(call.handle);
  if (open.count == 0 || open.bytes != bytes) {
    // A new pointer, or the address is in use again after an end that cuvmm did not see.
    open = IpcOpen{};
    open.pointer = pointer;
    open.size = facts.ipc.size;
    open.bytes = bytes;
    open.context = facts.place.context_id;
    open.device = facts.place.device;
    open.made = at;
  } else {
    open.reopened = at;
  }
  ++open.count;
  ++open.opens;
}

void IpcState::confirm(const RarelyRetired& taken, Origin at, const Surroundings& around) {
  for (const IpcOpen& before : taken.ipc_opens) {
    const auto found = opens_.find(before.pointer);
    if (found != opens_.end()) {
      found->second.closed = at;
    } else {
      around.tombstones.add(
          {ObjectRef::Kind::kIpcMemory, before.pointer, before.size, before.made, at});
    }
  }
}

// --- After the driver refused the call

void IpcState::undo(const RarelyRetired& taken, Origin, const Surroundings& around) {
  for (const IpcExport& e : taken.ipc_exports) exports_.try_emplace(e.base, e);
  for (const IpcOpen& before : taken.ipc_opens) {
    auto [it, inserted] = opens_.try_emplace(before.pointer, before);
    if (inserted) {
      it->second.count = 1;
    } else {
      ++it->second.count;
    }
  }
  restore(taken.context, around.ends);
}

void IpcState::restore(const EndedContext& taken, const EndsMeanwhile& ends) {
  for (const IpcExport& e : taken.ipc_exports) {
    if (!ends.contains(ObjectRef::Kind::kPoolMemory, e.base)) exports_.try_emplace(e.base, e);
  }
  for (const IpcOpen& before : taken.ipc_opens) {
    if (ends.contains(ObjectRef::Kind::kIpcMemory, before.pointer)) continue;
    const auto [it, inserted] = opens_.try_emplace(before.pointer, before);
    if (inserted || it->second.bytes != before.bytes) continue;
    // Another thread opened it once more meanwhile.
    it->second.count += before.count;
    it->second.opens += before.opens;
    it->second.reopened = it->second.made;
    it->second.made = before.made;
  }
}

}  // namespace cuvmm
