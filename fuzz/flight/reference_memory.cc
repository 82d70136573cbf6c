// SPDX-License-Identifier: Apache-2.0
// The memory of a program, and the work from which a call takes it away.
#include <algorithm>

#include "fuzz/flight/reference.h"

namespace cuvmm::fuzz::flight {

namespace {

std::uint64_t number(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace

Reference::Memory* Reference::usable(const Bytes& bytes) {
  for (Memory& each : memory_) {
    if (each.live && each.usable && each.bytes.holds(bytes)) return &each;
  }
  return nullptr;
}

Reference::Memory* Reference::live_at(std::uint64_t base, Memory::Kind kind) {
  for (Memory& each : memory_) {
    if (each.live && each.kind == kind && each.bytes.base == base) return &each;
  }
  return nullptr;
}

Opinion Reference::plain(bool legal) const {
  Opinion out;
  out.made = legal && !capturing();
  return out;
}

bool Reference::beyond_reach(const History::Stream& stream, int thread) const {
  const bool of_a_thread = stream.handle == number(CU_STREAM_PER_THREAD);
  return !stream.live || (of_a_thread && stream.thread != thread);
}

void Reference::take(Opinion& out, const Memory& memory, int ordered_by, int thread) {
  for (Node node = memory.since; node < history_.count(); ++node) {
    const History::Piece& piece = history_.piece(node);
    const auto uses = [&](bool touched) {
      return std::any_of(piece.uses.begin(), piece.uses.end(), [&](const Use& use) {
        return use.bytes.meets(memory.bytes) && (use.touched || !touched);
      });
    };
    // A kernel may walk backwards from the end of the memory.
    const bool by_end = std::any_of(piece.uses.begin(), piece.uses.end(), [&](const Use& use) {
      const bool end = use.bytes.base - memory.bytes.base == memory.bytes.size;
      return end && use.argument && !use.touched;
    });
    if ((!uses(false) && !by_end) || piece.known) continue;
    if (ordered_by >= 0 && history_.before_next(node, ordered_by)) continue;
    const History::Stream& stream = history_.stream(piece.stream);
    Suspect suspect{node, piece.stream, true, stream.kind == History::Kind::kLegacy};
    if (beyond_reach(stream, thread)) {
      out.lost |= !piece.over;
      if (stream.live) continue;
      suspect.doubtful = true;
    }
    // All its arguments there are addresses at which other memory may end.
    suspect.doubtful |= ends_at(memory.bytes.base) &&
                        std::none_of(piece.uses.begin(), piece.uses.end(), [&](const Use& use) {
                          const bool end = !use.touched && use.bytes.base == memory.bytes.base;
                          return use.argument && use.bytes.meets(memory.bytes) && !end;
                        });
    suspect.doubtful |= !uses(false);
    suspect.idle = !uses(true);
    suspect.unseen = std::none_of(piece.uses.begin(), piece.uses.end(), [&](const Use& use) {
      return use.bytes.meets(memory.bytes) && use.seen;
    });
    suspect.may_be_known = piece.may_be_known;
    // A kernel may be done with its memory before it ends; graphs may have kernels.
    const bool kernel = std::any_of(piece.uses.begin(), piece.uses.end(),
                                    [](const Use& use) { return use.argument && !use.touched; });
    suspect.doubtful |= piece.spoke && (kernel || piece.graph);
    for (Node later = node + 1; later < history_.count(); ++later) {
      const History::Piece& other = history_.piece(later);
      if (other.known) continue;
      if (other.stream == piece.stream) {
        // A record is done when the work before it is done. The work that a wait waits for is
        // ignored.
        suspect.marked |= !other.work;
        suspect.last &= other.is_record;
      } else if (suspect.legacy && history_.stream(other.stream).kind == History::Kind::kBlocking) {
        suspect.marked = true;
        if (!history_.hangs_on(later, node)) suspect.beside.push_back(later);
      }
    }
    out.suspects.push_back(std::move(suspect));
  }
  mark_seen_over(out.suspects);
}

void Reference::mark_seen_over(std::vector<Suspect>& suspects) const {
  for (const Suspect& later : suspects) {
    const History::Stream& ended = history_.stream(later.stream);
    if (ended.live) continue;
    for (Suspect& each : suspects) {
      each.may_be_seen_over |= history_.leads_to(each.node, ended.last);
    }
  }
}

// --- Virtual memory

Opinion Reference::judge(const calls::MemAddressReserve& made, int) {
  return plain(made.size != 0 && made.size % (2 << 20) == 0);
}
void Reference::accept(const calls::MemAddressReserve& made, int) {
  ranges_.push_back({*made.ptr, made.size, true, ++births_});
}

Opinion Reference::judge(const calls::MemAddressFree& made, int) {
  const Object* range = alive(ranges_, made.ptr);
  const bool used = std::any_of(memory_.begin(), memory_.end(), [&](const Memory& m) {
    return m.live && m.bytes.meets({made.ptr, made.size});
  });
  return plain(range && range->size == made.size && !used);
}
void Reference::accept(const calls::MemAddressFree& made, int) {
  alive(ranges_, made.ptr)->live = false;
}

Opinion Reference::judge(const calls::MemCreate& made, int) { return plain(made.prop != nullptr); }
void Reference::accept(const calls::MemCreate& made, int) {
  handles_.push_back({*made.handle, made.size});
}

Opinion Reference::judge(const calls::MemRelease& made, int) {
  return plain(alive(handles_, made.handle) != nullptr);
}
void Reference::accept(const calls::MemRelease& made, int) {
  alive(handles_, made.handle)->live = false;
}

Opinion Reference::judge(const calls::MemMap& made, int) {
  const Object* handle = alive(handles_, made.handle);
  const Bytes bytes{made.ptr, made.size};
  const bool reserved = std::any_of(ranges_.begin(), ranges_.end(), [&](const Object& r) {
    return r.live && Bytes{r.value, r.size}.holds(bytes);
  });
  const bool taken = std::any_of(memory_.begin(), memory_.end(),
                                 [&](const Memory& m) { return m.live && m.bytes.meets(bytes); });
  return plain(handle && handle->size == made.size && reserved && !taken);
}
void Reference::accept(const calls::MemMap& made, int) {
  memory_.push_back(
      {.bytes = {made.ptr, made.size}, .usable = false, .readable = false, .born = ++births_});
}

Opinion Reference::judge(const calls::MemUnmap& made, int thread) {
  const Memory* memory = live_at(made.ptr, Memory::Kind::kMapped);
  Opinion out = plain(memory && memory->bytes.size == made.size);
  out.certain = Rule::kUnmapInFlight;
  out.uncertain = Rule::kUnmapOrdered;
  if (out.made) take(out, *memory, -1, thread);
  return out;
}
void Reference::accept(const calls::MemUnmap& made, int) {
  live_at(made.ptr, Memory::Kind::kMapped)->live = false;
}

// Giving access takes no memory away.
Opinion Reference::judge(const calls::MemSetAccess& made, int thread) {
  const Memory* memory = live_at(made.ptr, Memory::Kind::kMapped);
  Opinion out = plain(memory && memory->bytes.size == made.size && made.desc && made.count == 1);
  if (!out.made || made.desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return out;
  out.certain = Rule::kAccessInFlight;
  out.uncertain = Rule::kAccessOrdered;
  take(out, *memory, -1, thread);
  return out;
}
void Reference::accept(const calls::MemSetAccess& made, int) {
  Memory& memory = *live_at(made.ptr, Memory::Kind::kMapped);
  memory.usable = made.desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  memory.readable = made.desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// --- External memory

Opinion Reference::judge(const calls::MemExportToShareableHandle& made, int) {
  return plain(alive(handles_, made.handle) != nullptr);
}
void Reference::accept(const calls::MemExportToShareableHandle& made, int) {
  const auto fd = static_cast<std::uint64_t>(*static_cast<const int*>(made.shareableHandle));
  descriptors_.push_back({fd, alive(handles_, made.handle)->size});
}

Opinion Reference::judge(const calls::ImportExternalMemory& made, int) {
  const auto fd = static_cast<std::uint64_t>(made.memHandleDesc->handle.fd);
  const Object* exported = alive(descriptors_, fd);
  return plain(exported && exported->size == made.memHandleDesc->size);
}
void Reference::accept(const calls::ImportExternalMemory& made, int) {
  alive(descriptors_, static_cast<std::uint64_t>(made.memHandleDesc->handle.fd))->live = false;
  externals_.push_back({number(*made.extMem_out), made.memHandleDesc->size});
}

Opinion Reference::judge(const calls::ExternalMemoryGetMappedBuffer& made, int) {
  const Object* object = alive(externals_, number(made.extMem));
  return plain(object && made.bufferDesc->size == object->size && made.bufferDesc->offset == 0);
}
void Reference::accept(const calls::ExternalMemoryGetMappedBuffer& made, int) {
  memory_.push_back({.bytes = {*made.devPtr, made.bufferDesc->size},
                     .kind = Memory::Kind::kBuffer,
                     .object = number(made.extMem)});
}

Opinion Reference::judge(const calls::DestroyExternalMemory& made, int thread) {
  Opinion out = plain(alive(externals_, number(made.extMem)) != nullptr);
  out.certain = Rule::kExtDestroyInFlight;
  out.uncertain = Rule::kExtDestroyOrdered;
  for (const Memory& each : memory_) {
    const bool of_it =
        each.live && each.kind == Memory::Kind::kBuffer && each.object == number(made.extMem);
    if (out.made && of_it) take(out, each, -1, thread);
  }
  return out;
}
void Reference::accept(const calls::DestroyExternalMemory& made, int) {
  alive(externals_, number(made.extMem))->live = false;
  for (Memory& each : memory_) {
    if (each.kind == Memory::Kind::kBuffer && each.object == number(made.extMem)) {
      each.live = false;
    }
  }
}

// --- Pools, plain memory, legacy IPC

Opinion Reference::judge(const calls::MemPoolCreate& made, int) {
  return plain(made.poolProps != nullptr);
}
void Reference::accept(const calls::MemPoolCreate& made, int) {
  pools_.push_back({number(*made.pool)});
}

Opinion Reference::judge(const calls::MemAllocFromPoolAsync& made, int thread) {
  const bool known = alive(pools_, number(made.pool)) && made.bytesize != 0;
  return plain(known && history_.find(number(made.hStream), thread) >= 0);
}
void Reference::accept(const calls::MemAllocFromPoolAsync& made, int thread) {
  const Node node = history_.add(history_.find(number(made.hStream), thread));
  memory_.push_back({.bytes = {*made.dptr, made.bytesize},
                     .kind = Memory::Kind::kPool,
                     .since = node,
                     .allocation = node});
}

Opinion Reference::judge(const calls::MemFreeAsync& made, int thread) {
  const int stream = history_.find(number(made.hStream), thread);
  const Memory* memory = live_at(made.dptr, Memory::Kind::kPool);
  Opinion out = plain(memory && stream >= 0);
  if (!out.made) return out;
  out.certain = out.uncertain = Rule::kMemFreeAsyncOrdered;
  take(out, *memory, stream, thread);
  return out;
}
void Reference::accept(const calls::MemFreeAsync& made, int thread) {
  live_at(made.dptr, Memory::Kind::kPool)->live = false;
  history_.add(history_.find(number(made.hStream), thread));
}

Opinion Reference::judge(const calls::MemAlloc&, int) { return plain(true); }
void Reference::accept(const calls::MemAlloc& made, int) {
  memory_.push_back({.bytes = {*made.dptr, made.bytesize}, .kind = Memory::Kind::kPlain});
}

// For a pool's memory, the call waits for nothing. For other memory the driver may wait by itself;
// it does, but no document promises it.
Opinion Reference::judge(const calls::MemFree& made, int thread) {
  const Memory* const pooled = live_at(made.dptr, Memory::Kind::kPool);
  Opinion out = plain(pooled || live_at(made.dptr, Memory::Kind::kPlain));
  if (!pooled || !out.made) return out;
  out.certain = Rule::kMemFreeInFlight;
  out.uncertain = Rule::kMemFreeOrdered;
  take(out, *pooled, -1, thread);
  return out;
}
void Reference::accept(const calls::MemFree& made, int) {
  if (Memory* const pooled = live_at(made.dptr, Memory::Kind::kPool)) {
    pooled->live = false;
    return;
  }
  live_at(made.dptr, Memory::Kind::kPlain)->live = false;
  history_.end(history_.everything());
  history_.tell(history_.everything());
}

Opinion Reference::judge(const calls::IpcOpenMemHandle& made, int) {
  return plain((made.Flags & 1) != 0);
}
void Reference::accept(const calls::IpcOpenMemHandle& made, int) {
  if (Memory* again = live_at(*made.pdptr, Memory::Kind::kOpened)) {
    ++again->object;
    return;
  }
  constexpr std::uint64_t kSize = 2 << 20;  // programs allocate this size in the other process
  memory_.push_back({.bytes = {*made.pdptr, kSize}, .kind = Memory::Kind::kOpened, .object = 1});
}

Opinion Reference::judge(const calls::IpcCloseMemHandle& made, int thread) {
  const Memory* memory = live_at(made.dptr, Memory::Kind::kOpened);
  Opinion out = plain(memory && memory->object == 1);
  out.certain = Rule::kIpcCloseInFlight;
  out.uncertain = Rule::kIpcCloseOrdered;
  if (out.made) take(out, *memory, -1, thread);
  return out;
}
// Drivers of GPUs waited here.
void Reference::accept(const calls::IpcCloseMemHandle& made, int) {
  live_at(made.dptr, Memory::Kind::kOpened)->live = false;
  history_.tell(history_.everything());
}

}  // namespace cuvmm::fuzz::flight
