// SPDX-License-Identifier: Apache-2.0
// Model's part for legacy IPC.
#include "rulebook/sharing/ipc_state.h"

#include "rulebook/model/model.h"

namespace cuvmm {

const IpcExport* IpcState::exported(const IpcBytes& bytes) const {
  for (const auto& [base, e] : exports) {
    if (e.bytes == bytes) return &e;
  }
  return nullptr;
}

const IpcOpen* IpcState::open_of(std::uint64_t pointer) const {
  const auto found = opens.find(pointer);
  return found == opens.end() ? nullptr : &found->second;
}

const IpcOpen* IpcState::open_at(std::uint64_t address) const {
  auto found = opens.upper_bound(address);
  if (found == opens.begin()) return nullptr;
  --found;
  const bool inside = found->first == address || address - found->first < found->second.size;
  return inside ? &found->second : nullptr;
}

void Model::retire(const calls::IpcCloseMemHandle& call, Retired& retired) {
  ends_meanwhile_.note(ObjectRef::Kind::kIpcMemory, call.dptr);
  const auto found = ipc_.opens.find(call.dptr);
  if (found == ipc_.opens.end()) return;
  retired.more().ipc_opens.push_back(found->second);
  if (--found->second.count == 0) ipc_.opens.erase(found);
}

void Model::retire_ipc(Address freed, Retired& retired) {
  const auto found = ipc_.exports.find(freed);
  if (found == ipc_.exports.end()) return;
  retired.more().ipc_exports.push_back(found->second);
  ipc_.exports.erase(found);
}

void Model::restore_ipc(const RarelyRetired& retired) {
  for (const IpcExport& e : retired.ipc_exports) ipc_.exports.try_emplace(e.base, e);
  for (const IpcOpen& before : retired.ipc_opens) {
    auto [it, inserted] = ipc_.opens.try_emplace(before.pointer, before);
    if (inserted) {
      it->second.count = 1;
    } else {
      ++it->second.count;
    }
  }
}

void Model::bury_ipc(const RarelyRetired& retired, Origin at) {
  for (const IpcOpen& before : retired.ipc_opens) {
    const auto found = ipc_.opens.find(before.pointer);
    if (found != ipc_.opens.end()) {
      found->second.closed = at;
    } else {
      tombstones_.add({ObjectRef::Kind::kIpcMemory, before.pointer, before.size, before.made, at});
    }
  }
}

void Model::commit(const calls::IpcGetMemHandle& call, const Facts& facts, Origin at) {
  const Address base = facts.allocation_base ? facts.allocation_base : call.dptr;
  IpcExport made{.bytes = ipc_bytes(*call.pHandle), .base = base, .made = at};
  auto [it, inserted] = ipc_.exports.try_emplace(base, made);
  // Other bytes for the same address: the memory ended by a route we did not see.
  if (!inserted && it->second.bytes != made.bytes) it->second = made;
}

void Model::commit(const calls::IpcOpenMemHandle& call, const Facts& facts, Origin at) {
  const Address pointer = *call.pdptr;
  tombstones_.forget(ObjectRef::Kind::kIpcMemory, pointer);
  IpcOpen& open = ipc_.opens[pointer];
  const IpcBytes bytes = ipc_bytes(call.handle);
  if (open.count == 0 || open.bytes != bytes) {
    // New, or the address is in use again after an end that we did not see.
    open = IpcOpen{};
    open.pointer = pointer;
    open.size = facts.allocation_size;
    open.bytes = bytes;
    open.context = facts.context_id;
    open.device = facts.device;
    open.made = at;
  } else {
    open.reopened = at;
  }
  ++open.count;
  ++open.opens;
}

}  // namespace cuvmm
