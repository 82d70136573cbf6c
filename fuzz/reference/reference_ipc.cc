// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of plain memory and legacy IPC: rulebook/rules/ipc.def, line by line.
#include <algorithm>
#include <cstring>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

Judgement Reference::judge(const calls::MemAlloc& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kMemoryContext);
  if (call.bytesize == 0) out.add(Rule::kMemorySizeNonzero);
  if (!call.dptr) out.add(Rule::kMemoryOutNonnull);
  out.may_run_out = true;
  return out;
}

const char* Reference::accept(const calls::MemAlloc& call, Actor actor) {
  return place({.base = *call.dptr,
                .size = call.bytesize,
                .kind = PlainMemory::Kind::kAlloc,
                .memory = fresh_memory(call.bytesize, 1, actor.device),
                .device = actor.device});
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
  } else if (plain && plain->kind == PlainMemory::Kind::kOpened) {
    out.add(Rule::kIpcGetNotOpened);
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
  // The driver may give the same bytes for new memory; then they stand for the new memory.
  std::erase_if(pool_state_.tokens, [&](const PoolState::Token& old) {
    return old.of_pool == of_pool && old.bytes == token.bytes;
  });
  pool_state_.tokens.push_back(token);
  return true;
}

Judgement Reference::judge(const calls::IpcOpenMemHandle& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kIpcOpenContext);
  if (!call.pdptr) out.add(Rule::kIpcOpenOutNonnull);
  if (!(call.Flags & 1)) out.add(Rule::kIpcOpenFlagsLazy);
  if (call.Flags & ~1u) out.add(Rule::kIpcOpenFlagsOnly);
  if (const auto* own = pool_state_.token(&call.handle, false)) {
    out.add(Rule::kIpcOpenOtherProcess);
    if (!plain_.all()[static_cast<std::size_t>(own->memory)].live) out.add(Rule::kIpcOpenAlive);
    return out;
  }
  const PlainMemory* theirs = exported_elsewhere(&call.handle);
  if (!theirs) {
    out.add(Rule::kIpcOpenHandleValid);
  } else if (!theirs->live) {
    // Opening memory again that is open here only raises the count.
    const int owner = partner_->plain_.index(*theirs);
    const bool open = std::any_of(plain_.all().begin(), plain_.all().end(), [&](const auto& p) {
      return p.live && p.kind == PlainMemory::Kind::kOpened && p.owner == owner &&
             p.device == actor.device;
    });
    if (!open) out.add(Rule::kIpcOpenAlive);
  }
  return out;
}

const PlainMemory* Reference::exported_elsewhere(const void* bytes) const {
  const auto* token = partner_ ? partner_->pool_state_.token(bytes, false) : nullptr;
  return token ? &partner_->plain_.all()[static_cast<std::size_t>(token->memory)] : nullptr;
}

const PlainMemory& Reference::exporters(const PlainMemory& opened) const {
  return partner_->plain_.all()[static_cast<std::size_t>(opened.owner)];
}

bool Reference::open_elsewhere(const PlainMemory& plain) const {
  if (!partner_ || plain.kind != PlainMemory::Kind::kAlloc) return false;
  const auto& theirs = partner_->plain_.all();
  return std::any_of(theirs.begin(), theirs.end(), [&](const PlainMemory& p) {
    return p.live && p.kind == PlainMemory::Kind::kOpened && p.owner == plain_.index(plain);
  });
}

const char* Reference::accept(const calls::IpcOpenMemHandle& call, Actor actor) {
  const PlainMemory* theirs = exported_elsewhere(&call.handle);
  if (!theirs) return "memory of the process itself was opened";
  const int owner = partner_->plain_.index(*theirs);
  for (const PlainMemory& p : plain_.all()) {
    // A second open in one context only raises the count; another context gets its own pointer.
    if (!p.live || p.kind != PlainMemory::Kind::kOpened) continue;
    if (p.owner != owner || p.device != actor.device) continue;
    ++plain_.live_base(p.base)->opens;
    return p.base == *call.pdptr ? nullptr : "memory that is open here has another address now";
  }
  return place({.base = *call.pdptr,
                .size = theirs->size,
                .kind = PlainMemory::Kind::kOpened,
                .memory = theirs->memory,
                .offset = theirs->offset,
                .owner = owner,
                .opens = 1,
                .device = actor.device});
}

Judgement Reference::judge(const calls::IpcCloseMemHandle& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kIpcCloseContext);
  const PlainMemory* plain = plain_.live_base(call.dptr);
  if (plain && plain->kind == PlainMemory::Kind::kOpened) {
    out.loose = !exporters(*plain).live || ambiguous(call.dptr);
    return out;
  }
  const bool closed =
      std::any_of(plain_.all().begin(), plain_.all().end(), [&](const PlainMemory& p) {
        return p.base == call.dptr && p.kind == PlainMemory::Kind::kOpened;
      });
  if (closed) out.add(Rule::kIpcClosePairing);
  // The address of closed memory may belong to another object by now.
  if (!closed || plain_.at(call.dptr) || cell_at(call.dptr)) out.add(Rule::kIpcCloseOpened);
  return out;
}

const char* Reference::accept(const calls::IpcCloseMemHandle& call) {
  PlainMemory* plain = plain_.live_base(call.dptr);
  if (!plain || plain->opens == 0) return "memory was closed that was never opened";
  plain->live = --plain->opens != 0;
  return nullptr;
}

std::vector<std::uint64_t> Reference::opened() const {
  std::vector<std::uint64_t> out;
  for (const PlainMemory& p : plain_.all()) {
    for (int i = 0; p.live && i < p.opens; ++i) out.push_back(p.base);
  }
  return out;
}

}  // namespace cuvmm::fuzz
