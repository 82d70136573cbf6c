// The reference's opinion of plain memory and legacy IPC within one process: spec/rules/ipc.def.
#include <cstring>

#include "fuzz/reference.h"

namespace cuvmm::fuzz {

Judgement Reference::judge(const calls::MemAlloc& call, Actor actor) const {
  Judgement out;
  // There are no rules of cuMemAlloc.
  out.loose = actor.device < 0 || call.bytesize == 0 || !call.dptr;
  out.may_run_out = true;
  return out;
}

const char* Reference::accept(const calls::MemAlloc& call) {
  return place({.base = *call.dptr,
                .size = call.bytesize,
                .kind = PlainMemory::Kind::kAlloc,
                .memory = fresh_memory(call.bytesize, 1, 0)});
}

Judgement Reference::judge(const calls::IpcGetMemHandle& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kIpcGetContext);
  if (!call.pHandle) out.add(Rule::kIpcGetOutNonnull);
  if (call.dptr == 0) {
    out.add(Rule::kIpcGetPointerNonzero);
    return out;
  }
  out.loose = ambiguous(call.dptr);
  const PlainMemory* plain = plain_.at(call.dptr);
  if (cell_at(call.dptr)) {
    out.add(Rule::kIpcGetNotVmm);
  } else if (plain && plain->kind == PlainMemory::Kind::kPool) {
    out.add(Rule::kIpcGetNotPool);
  } else if (plain && plain->kind == PlainMemory::Kind::kTaken) {
    out.add(Rule::kIpcGetNotPool);
    out.add(Rule::kIpcGetAlive);
  } else if (!plain || plain->kind != PlainMemory::Kind::kAlloc) {
    out.add(Rule::kIpcGetAlive);
  } else if (plain->base != call.dptr) {
    out.add(Rule::kIpcGetBase);
  }
  return out;
}

const char* Reference::accept(const calls::IpcGetMemHandle& call) {
  return name_given(call.dptr, call.pHandle, false) ? nullptr : "a handle of nothing";
}

bool Reference::name_given(std::uint64_t address, const void* bytes, bool of_pool) {
  const PlainMemory* plain = plain_.at(address);
  if (!plain) return false;
  PoolState::Token token{{}, plain_.index(*plain), of_pool};
  std::memcpy(token.bytes.data(), bytes, token.bytes.size());
  pool_state_.tokens.push_back(token);
  return true;
}

Judgement Reference::judge(const calls::IpcOpenMemHandle& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kIpcOpenContext);
  if (!call.pdptr) out.add(Rule::kIpcOpenOutNonnull);
  if (!(call.Flags & 1)) out.add(Rule::kIpcOpenFlagsLazy);
  if (call.Flags & ~1u) out.add(Rule::kIpcOpenFlagsOnly);
  const auto* token = pool_state_.token(&call.handle, false);
  if (!token) {
    out.add(Rule::kIpcOpenHandleValid);
    return out;
  }
  out.add(Rule::kIpcOpenOtherProcess);
  if (!plain_.all()[static_cast<std::size_t>(token->memory)].live) out.add(Rule::kIpcOpenAlive);
  return out;
}

const char* Reference::accept(const calls::IpcOpenMemHandle&) {
  return "memory of the process itself was opened";
}

Judgement Reference::judge(const calls::IpcCloseMemHandle&, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kIpcCloseContext);
  // Nothing was opened: an exporter cannot.
  out.add(Rule::kIpcCloseOpened);
  return out;
}

const char* Reference::accept(const calls::IpcCloseMemHandle&) {
  return "memory was closed that was never opened";
}

}  // namespace cuvmm::fuzz
