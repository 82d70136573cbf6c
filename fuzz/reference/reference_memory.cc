// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of calls that make, name and share allocations.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

constexpr unsigned kExportable = 1 | 8;  // POSIX descriptors and, with a channel, fabric handles

bool one_type(unsigned type) { return type == 1 || type == 2 || type == 4 || type == 8; }

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

const Reference::Named* Reference::judge_handle(Judgement& out, std::uint64_t value, Rule zero,
                                                Rule valid, Rule alive, Rule referenced) const {
  const Named* named = value ? handle(value) : nullptr;
  if (value == 0) {
    out.add(zero);
  } else if (!named) {
    out.add(valid);
  } else if (!named->alive()) {
    out.add(alive);
    return nullptr;
  } else if (named->references == 0) {
    out.add(referenced);
  }
  return named;
}

void Reference::judge_prop(Judgement& out, const CUmemAllocationProp& prop) const {
  const int location = static_cast<int>(prop.location.type);
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  if (static_cast<int>(prop.type) != 1) out.add(Rule::kCreateType);
  if (location == 1) {
    if (!valid_device(prop.location.id)) out.add(Rule::kCreateLocationDevice);
  } else if (location == 2) {
    if (types) out.add(Rule::kCreateHostHandleTypes);
  } else if (location == 3) {
    if (prop.location.id != 0) out.add(Rule::kCreateNumaNode);
  } else {
    out.add(Rule::kCreateLocationType);
  }
  if (types > 15) out.add(Rule::kCreateHandleTypesKnown);
  if (types & 15 & ~kExportable) out.add(Rule::kCreateHandleTypesSupported);
  if ((types & 8) && !machine_.fabric_channel) out.add(Rule::kCreateFabricChannel);
  if ((types & 8) && location == 3 && !machine_.host_multinode) out.add(Rule::kCreateMultinode);
  if (prop.win32HandleMetaData && !(types & 2)) out.add(Rule::kCreateWin32Metadata);
  if (prop.allocFlags.compressionType > 1) out.add(Rule::kCreateCompression);
  if (prop.allocFlags.gpuDirectRDMACapable > 1) out.add(Rule::kCreateRdmaBoolean);
  const unsigned usage = prop.allocFlags.usage;
  if (usage > (machine_.domains ? 7 : 3)) out.add(Rule::kCreateUsageKnown);
  // Bit 2 came with the domains, and asks for RDMA over PCIe.
  if (machine_.domains && (usage & 4) && !prop.allocFlags.gpuDirectRDMACapable) {
    out.add(Rule::kCreatePcieRdma);
  }
  const auto& reserved = prop.allocFlags.reserved;
  if (reserved[0] || reserved[1] || reserved[2]) out.add(Rule::kCreateReservedZero);
  if (reserved[3]) out.add(Rule::kCreateReservedTailZero);
}

Judgement Reference::judge(const calls::MemCreate& call, Actor) const {
  Judgement out;
  if (!call.handle) out.add(Rule::kCreateHandleNonnull);
  if (call.flags) out.add(Rule::kCreateFlagsZero);
  if (call.size == 0) out.add(Rule::kCreateSizeNonzero);
  if (call.size % kGranule) out.add(Rule::kCreateSizeGranularity);
  if (!call.prop) {
    out.add(Rule::kCreatePropNonnull);
    return out;
  }
  judge_prop(out, *call.prop);
  const auto& flags = call.prop->allocFlags;
  const int type = static_cast<int>(call.prop->location.type);
  const bool on_host = type == 2 || type == 3;
  if (on_host && (flags.compressionType || flags.gpuDirectRDMACapable)) {
    out.add(Rule::kCreateHostPlain);
  }
  if (flags.usage & 1) {
    if (call.prop->requestedHandleTypes) out.add(Rule::kCreateTilePoolPrivate);
    // The limit on the host has not been measured.
    if (!on_host && call.size > machine_.device_memory && call.size >> 45 == 0) {
      out.add(Quirk::kTilePoolSize);
    }
  }
  // The machine decides how much host memory is free. A real machine is not asked for sizes that it
  // may have but can hardly spare.
  if (on_host && call.size >= std::uint64_t{1} << 30) out.may_run_out = true;
  if (on_host && out.may_run_out && call.size < std::uint64_t{1} << 40) out.fatal = true;
  if (static_cast<int>(call.prop->location.type) != 1 || !valid_device(call.prop->location.id)) {
    return out;
  }
  std::uint64_t used = 0;
  for (const Named& named : handles_) {
    const Memory& memory = memories_[static_cast<std::size_t>(named.memory)];
    if (named.alive() && !named.imported && memory.team < 0 &&
        static_cast<int>(memory.prop.location.type) == 1 &&
        memory.prop.location.id == call.prop->location.id) {
      used += memory.size;
    }
  }
  if (used > machine_.device_memory || call.size > machine_.device_memory - used) {
    out.add(Rule::kCreateFits);
  }
  out.may_run_out = !machine_.charge;
  // An export keeps the memory after its last release, and a binding to an endpoint may keep it.
  for (const Descriptor& d : descriptors_) out.may_run_out |= d.open && d.memory >= 0;
  for (const EndpointState::Object& object : endpoints_.objects) {
    out.may_run_out |= !object.bindings.empty();
  }
  // The driver decides how much of a device an array takes, and what it keeps of it.
  out.may_run_out |= !arrays_.arrays.empty() || !arrays_.mipmaps.empty();
  // A pool keeps freed memory, up to its threshold.
  for (const PoolState::Pool& pool : pool_state_.pools) out.may_run_out |= pool.set;
  for (const PlainMemory& p : plain_.all()) {
    // The driver decides how much of a device plain memory takes.
    const bool own = p.kind == PlainMemory::Kind::kPool || p.kind == PlainMemory::Kind::kAlloc;
    if (p.live && own) out.may_run_out = true;
  }
  return out;
}

const char* Reference::accept(const calls::MemCreate& call) {
  const Named* other = handle(*call.handle);
  const bool taken = other && other->alive();
  const int memory = static_cast<int>(memories_.size());
  memories_.push_back({call.size, *call.prop, {}});
  handles_.push_back({*call.handle, memory, 1, 0, false});
  return *call.handle == 0 ? "the handle is 0" : taken ? "the handle is one in use" : nullptr;
}

Judgement Reference::judge(const calls::MemRelease& call, Actor) const {
  Judgement out;
  judge_handle(out, call.handle, Rule::kReleaseHandleNonzero, Rule::kReleaseHandleValid,
               Rule::kReleasePairing, Rule::kReleasePairing);
  const Named* named = out.count == 0 ? handle(call.handle) : nullptr;
  const bool ends = named && named->references == 1 && named->mappings == 0;
  if (ends && bound(static_cast<int>(named - handles_.data()))) out.add(Rule::kMcBoundMemoryEnds);
  return out;
}

const char* Reference::accept(const calls::MemRelease& call) {
  Named* named = const_cast<Named*>(handle(call.handle));
  if (!named || named->references == 0) return "a handle without a reference was released";
  --named->references;
  return nullptr;
}

Judgement Reference::judge(const calls::MemGetAllocationGranularity& call, Actor) const {
  Judgement out;
  if (!call.granularity) out.add(Rule::kGranularityOutNonnull);
  if (static_cast<unsigned>(call.option) > 1) out.add(Rule::kGranularityOption);
  if (!call.prop) {
    out.add(Rule::kGranularityPropNonnull);
    return out;
  }
  Judgement creation;
  judge_prop(creation, *call.prop);
  for (int i = 0; i < creation.count; ++i) {
    const Rule rule = creation.broken[i];
    if (rule == Rule::kCreateFabricChannel || info(rule).kind == RuleKind::kAdvice) continue;
    out.add(Rule::kGranularityPropValid);
    break;
  }
  return out;
}

const char* Reference::accept(const calls::MemGetAllocationGranularity& call) {
  return *call.granularity == kGranule ? nullptr : "the granularity is not 2 MiB";
}

Judgement Reference::judge(const calls::MemGetAllocationPropertiesFromHandle& call, Actor) const {
  Judgement out;
  if (!call.prop) out.add(Rule::kPropertiesPropNonnull);
  judge_handle(out, call.handle, Rule::kPropertiesHandleNonzero, Rule::kPropertiesHandleValid,
               Rule::kPropertiesHandleAlive, Rule::kPropertiesHandleReferenced);
  const Named* asked = handle(call.handle);
  if (asked && team_of(*asked))
    out.loose = true;  // no document says a multicast object's properties
  // The answer about freed memory may be anything.
  out.may_refuse = out.breaks(Rule::kPropertiesHandleAlive);
  // A value of another process may be that of memory which an earlier program freed here.
  out.may_succeed = out.breaks(Rule::kPropertiesHandleValid);
  return out;
}

const char* Reference::accept(const calls::MemGetAllocationPropertiesFromHandle& call) {
  const Named* named = handle(call.handle);
  if (!named || !named->alive() || team_of(*named)) return nullptr;
  const CUmemAllocationProp& made = memories_[static_cast<std::size_t>(named->memory)].prop;
  const CUmemAllocationProp& answer = *call.prop;
  // The driver may report HOST memory as HOST_NUMA, and leave out unknown handle types.
  const int made_type = static_cast<int>(made.location.type);
  const int answer_type = static_cast<int>(answer.location.type);
  const bool same_place = made_type == answer_type || (made_type == 2 && answer_type == 3);
  if (made.type != answer.type || !same_place) {
    return "the properties are not those of the creation";
  }
  if (static_cast<int>(made.location.type) == 1 && made.location.id != answer.location.id) {
    return "the device is not that of the creation";
  }
  const unsigned types = named->imported ? 0 : static_cast<unsigned>(made.requestedHandleTypes);
  const auto answer_types = static_cast<unsigned>(answer.requestedHandleTypes);
  if (answer_types != types && answer_types != (types & 15)) {
    return named->imported ? "an import has no handle types"
                           : "the handle types are not those of the creation";
  }
  return nullptr;
}

Judgement Reference::judge(const calls::MemRetainAllocationHandle& call, Actor) const {
  Judgement out;
  if (!call.handle) out.add(Rule::kRetainHandleNonnull);
  if (!mapped_at(number(call.addr))) out.add(Rule::kRetainAddrMapped);
  return out;
}

const char* Reference::accept(const calls::MemRetainAllocationHandle& call) {
  const Cell* cell = mapped_at(number(call.addr));
  if (!cell) return "nothing is mapped there";
  Named& named =
      handles_[static_cast<std::size_t>(mappings_[static_cast<std::size_t>(cell->mapping)].handle)];
  ++named.references;
  return named.value == *call.handle ? nullptr : "the handle is not the one that was mapped";
}

Judgement Reference::judge(const calls::MemExportToShareableHandle& call, Actor) const {
  Judgement out;
  if (!call.shareableHandle) out.add(Rule::kExportOutNonnull);
  if (call.flags) out.add(Rule::kExportFlagsZero);
  const Named* named =
      judge_handle(out, call.handle, Rule::kExportHandleNonzero, Rule::kExportHandleValid,
                   Rule::kExportHandleAlive, Rule::kExportHandleReferenced);
  const auto type = static_cast<unsigned>(call.handleType);
  if (!one_type(type)) {
    out.add(Rule::kExportOneType);
  } else if (named && named->imported) {
    out.add(Rule::kExportNotImported);
  } else if (named) {
    const auto& prop = memories_[static_cast<std::size_t>(named->memory)].prop;
    const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
    if (!(types & type)) out.add(Rule::kExportRequestedType);
    // Only multicast objects can have a type that the system lacks; no document says the answer
    // then.
    const bool team = is_team(named->memory);
    if ((types & type & ~kExportable) || (team && type == 8)) out.loose = true;
  }
  return out;
}

const char* Reference::accept(const calls::MemExportToShareableHandle& call) {
  const Named* named = handle(call.handle);
  if (named && team_of(*named)) const_cast<MulticastTeam*>(team_of(*named))->shared = true;
  if (static_cast<unsigned>(call.handleType) == 8) return nullptr;
  const int fd = *static_cast<const int*>(call.shareableHandle);
  opened(fd);  // an older descriptor with that number is closed
  descriptors_.push_back({fd, named ? named->memory : -1, true, -1, other()});
  return fd < 0 ? "the descriptor is negative" : nullptr;
}

Judgement Reference::judge(const calls::MemImportFromShareableHandle& call, Actor) const {
  Judgement out;
  const auto type = static_cast<unsigned>(call.shHandleType);
  const std::uintptr_t value = number(call.osHandle);
  if (!call.handle) out.add(Rule::kImportHandleNonnull);
  if (!one_type(type)) {
    out.add(Rule::kImportTypeKnown);
    return out;
  }
  if (type != 8 && value == 0) out.add(Rule::kImportDescriptorNonzero);
  if (!(type & kExportable)) out.add(Rule::kImportTypeSupported);
  if (type == 8) out.add(value ? Rule::kImportFabricValid : Rule::kImportFabricNonnull);
  if (type != 1 || value == 0) return out;
  for (const Descriptor& d : descriptors_) {
    if (!d.open || static_cast<std::uintptr_t>(d.fd) != value) continue;
    out.uncovered = other() && (d.pool >= 0 || is_team(d.memory));
    if (d.memory >= 0) {
      out.loose = is_team(d.memory);
      return out;
    }
    if (d.pool >= 0) {
      out.add(Rule::kImportDescriptorKind);
      return out;
    }
  }
  const bool taken = external_.took(static_cast<int>(value));
  out.unseen = external_.came_back(static_cast<int>(value));
  out.add(taken ? Rule::kImportDescriptorOwned : Rule::kImportDescriptorValid);
  return out;
}

const char* Reference::accept(const calls::MemImportFromShareableHandle& call) {
  const Named* other = handle(*call.handle);
  const bool taken = other && other->alive();
  for (const Descriptor& d : descriptors_) {
    if (!d.open || d.memory < 0) continue;
    if (static_cast<std::uintptr_t>(d.fd) != number(call.osHandle)) continue;
    handles_.push_back({*call.handle, d.memory, 1, 0, true});
    return taken ? "the handle is one in use" : nullptr;
  }
  return "something that is no export was imported";
}

}  // namespace cuvmm::fuzz
