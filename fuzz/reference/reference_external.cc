// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of external memory: rulebook/rules/external_memory.def, line by line.
#include <fcntl.h>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

constexpr int kOpaqueFd = 1;
constexpr unsigned kDedicated = 1;

std::uint64_t number(CUexternalMemory object) { return reinterpret_cast<std::uint64_t>(object); }

template <std::size_t n>
bool any(const unsigned (&words)[n]) {
  return std::any_of(words, words + n, [](unsigned word) { return word != 0; });
}

}  // namespace

const Reference::Descriptor* Reference::export_at(int fd) const {
  for (const Descriptor& d : descriptors_) {
    if (d.open && d.memory >= 0 && d.fd == fd) return &d;
  }
  return nullptr;
}

Judgement Reference::judge(const calls::ImportExternalMemory& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kExtImportContext);
  if (!call.extMem_out) out.add(Rule::kExtImportOutNonnull);
  if (!call.memHandleDesc) {
    out.add(Rule::kExtImportDescNonnull);
    return out;
  }
  const auto& desc = *call.memHandleDesc;
  const int type = static_cast<int>(desc.type);
  const bool dedicated = (desc.flags & kDedicated) != 0;
  const bool must = type >= 5 && type <= 7, must_not = type == 8 || type == 9;
  if (type < 1 || type > 9) {
    out.add(Rule::kExtImportTypeKnown);
  } else if ((must && !dedicated) || (must_not && dedicated)) {
    out.add(Rule::kExtImportDedicated);
  } else if (type != kOpaqueFd) {
    out.add(Rule::kExtImportTypeSupported);
  }
  if (desc.size == 0) out.add(Rule::kExtImportSizeNonzero);
  if (desc.flags > 1) out.add(Rule::kExtImportFlagsKnown);
  if (any(desc.reserved)) out.add(Rule::kExtImportReservedZero);
  if (type != kOpaqueFd) return out;
  const Descriptor* exported = export_at(desc.handle.fd);
  out.unseen = exported && exported->other;
  if (!exported) {
    const bool taken = external_.took(desc.handle.fd);
    out.unseen = external_.came_back(desc.handle.fd);
    out.add(taken ? Rule::kExtImportFdOwned : Rule::kExtImportFdValid);
  } else if (is_team(exported->memory)) {
    out.loose = true;  // a multicast object is no memory
  } else if (desc.size && desc.size != memories_[static_cast<std::size_t>(exported->memory)].size) {
    out.add(Rule::kExtImportSizeExact);
  }
  if (exported) {
    const auto& prop = memories_[static_cast<std::size_t>(exported->memory)].prop;
    if (prop.allocFlags.compressionType != 0) {
      // With a second device in the process, the driver dies of its own device's memory (66 of 66).
      out.fatal = machine_.devices > 1;
      if (prop.location.id != actor.device) out.add(Quirk::kExtCompressedElsewhere);
    }
  }
  return out;
}

const char* Reference::accept(const calls::ImportExternalMemory& call, Actor actor) {
  const int fd = call.memHandleDesc->handle.fd;
  const Descriptor* exported = export_at(fd);
  const int memory = exported ? exported->memory : -1;
  const int other = external_.find(number(*call.extMem_out));
  const bool used = other >= 0 && external_.objects[static_cast<std::size_t>(other)].live;
  external_.objects.push_back({.value = number(*call.extMem_out),
                               .memory = memory,
                               .size = call.memHandleDesc->size,
                               .dedicated = (call.memHandleDesc->flags & kDedicated) != 0,
                               .unseen = exported && exported->other,
                               .live = true,
                               .device = actor.device});
  close(fd);
  external_.taken.push_back(fd);
  if (memory < 0) return "something that is no export was imported";
  if (number(*call.extMem_out) == 0) return "the external memory is NULL";
  if (used) return "the external memory is one in use";
  return fcntl(fd, F_GETFD) < 0 ? nullptr : "the descriptor is still open";
}

void Reference::refuse(const calls::ImportExternalMemory& call, CUresult answer, const Profile&) {
  // An H200 closes a descriptor that is no memory object.
  if (answer == CUDA_ERROR_UNKNOWN && call.memHandleDesc) close(call.memHandleDesc->handle.fd);
}

Judgement Reference::judge(const calls::ExternalMemoryGetMappedBuffer& call, Actor) const {
  Judgement out;
  if (!call.devPtr) out.add(Rule::kExtBufferOutNonnull);
  const int index = external_.find(number(call.extMem));
  const auto* object = index < 0 ? nullptr : &external_.objects[static_cast<std::size_t>(index)];
  if (!call.extMem) {
    out.add(Rule::kExtBufferMemoryNonnull);
  } else if (!object) {
    out.add(Rule::kExtBufferMemoryValid);
  } else if (!object->live) {
    out.add(Rule::kExtBufferMemoryAlive);
    object = nullptr;
  }
  if (!call.bufferDesc) {
    out.add(Rule::kExtBufferDescNonnull);
    return out;
  }
  const auto& desc = *call.bufferDesc;
  if (desc.flags) out.add(Rule::kExtBufferFlagsZero);
  if (any(desc.reserved)) out.add(Rule::kExtBufferReservedZero);
  if (desc.size == 0) out.add(Rule::kExtBufferSizeNonzero);
  if (!object) return out;
  out.unseen = object->unseen;
  if (object->dedicated && desc.offset != 0) out.add(Rule::kExtBufferDedicatedOffset);
  const auto fits = [&](std::uint64_t whole) {
    return desc.offset <= whole && desc.size <= whole - desc.offset;
  };
  if (!fits(object->size)) {
    out.add(Rule::kExtBufferBounds);
  } else if (!fits(memories_[static_cast<std::size_t>(object->memory)].size)) {
    out.add(Rule::kExtBufferInsideObject);
  }
  return out;
}

const char* Reference::place(const PlainMemory& made) {
  const bool taken = plain_.meets(made.base, made.size) ||
                     std::any_of(cells_.begin(), cells_.end(), [&](const Cell& cell) {
                       // The tail of a mapping beyond its reservation does not conflict.
                       return cell.range >= 0 && meets(cell, made.base, made.size);
                     });
  plain_.add(made);
  if (made.base == 0) return "the address is 0";
  return taken ? "the memory overlaps what is in use" : nullptr;
}

const char* Reference::accept(const calls::ExternalMemoryGetMappedBuffer& call) {
  const int index = external_.find(number(call.extMem));
  if (index < 0) return "a buffer of nothing";
  const auto& object = external_.objects[static_cast<std::size_t>(index)];
  return place({.base = *call.devPtr,
                .size = call.bufferDesc->size,
                .kind = PlainMemory::Kind::kExternal,
                .memory = object.memory,
                .offset = call.bufferDesc->offset,
                .owner = index,
                .device = object.device});
}

Judgement Reference::judge(const calls::DestroyExternalMemory& call, Actor) const {
  Judgement out;
  const int index = external_.find(number(call.extMem));
  if (!call.extMem) {
    out.add(Rule::kExtDestroyNonnull);
  } else if (index < 0) {
    out.add(Rule::kExtDestroyValid);
  } else if (!external_.objects[static_cast<std::size_t>(index)].live) {
    out.add(Rule::kExtDestroyOnce);
  }
  return out;
}

const char* Reference::accept(const calls::DestroyExternalMemory& call) {
  const int index = external_.find(number(call.extMem));
  if (index < 0) return "an external memory that nothing made was destroyed";
  external_.objects[static_cast<std::size_t>(index)].live = false;
  return nullptr;
}

void Reference::judge_fill(Judgement& out, const PlainMemory& plain, Actor actor) const {
  using Kind = PlainMemory::Kind;
  if (plain.device == actor.device) return;
  // Peer access would allow fills of cuMemAlloc's memory, but no program enables it.
  if (plain.kind == Kind::kAlloc) out.add(Quirk::kFillElsewhere);
  if (plain.kind == Kind::kExternal || plain.kind == Kind::kOpened) out.add(Rule::kDataFillDevice);
}

void Reference::judge_plain(Judgement& out, const PlainMemory& plain) const {
  if (plain.kind == PlainMemory::Kind::kExternal &&
      !external_.objects[static_cast<std::size_t>(plain.owner)].live) {
    out.add(Rule::kExtBufferAfterDestroy);
  }
  // The content of memory that its owner freed is unknown; a real driver may read another process's
  // memory.
  if (plain.kind == PlainMemory::Kind::kOpened && !exporters(plain).live) {
    out.fatal = out.loose = true;
  }
}

const char* Reference::accept(const calls::MemFree& call) {
  if (PlainMemory* plain = plain_.live_base(call.dptr)) plain->live = false;
  return nullptr;
}

std::vector<std::uint64_t> Reference::external_memories() const {
  std::vector<std::uint64_t> out;
  for (const auto& object : external_.objects) {
    if (object.live) out.push_back(object.value);
  }
  return out;
}

std::vector<Reference::Span> Reference::plain() const {
  std::vector<Span> out;
  for (const PlainMemory& p : plain_.all()) {
    if (p.live && p.kind != PlainMemory::Kind::kOpened) out.push_back({p.base, p.size});
  }
  return out;
}

}  // namespace cuvmm::fuzz
