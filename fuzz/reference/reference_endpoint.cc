// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of logical endpoints: rulebook/rules/endpoint.def, line by line. No
// document says the state of a binding whose memory was freed, or of a binding that another name of
// the endpoint made.
#include <algorithm>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;  // the profile's maxSize
constexpr unsigned kFabric = 1;  // the one handle type, and the type of one device

}  // namespace

bool Reference::ended(const EndpointState::Binding& b) const {
  if (b.handle >= 0) return !handles_[static_cast<std::size_t>(b.handle)].alive();
  return !plain_.all()[static_cast<std::size_t>(b.plain)].live;
}

const Reference::Endpoint* Reference::judge_endpoint(Judgement& out, std::uint32_t id) const {
  const Endpoint* endpoint = endpoints_.find(id);
  if (!endpoint) out.add(Rule::kEpExists);
  if (endpoint && endpoints_.unseen(*endpoint)) out.unseen = true;
  return endpoint;
}

// --- Ids

Judgement Reference::judge(const calls::LogicalEndpointIdReserve& call, Actor) const {
  Judgement out;
  if (!call.baseLeId) out.add(Rule::kEpReserveOutNonnull);
  if (call.count == 0) out.add(Rule::kEpReserveCount);
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointIdReserve& call) {
  const char* wrong = nullptr;
  for (std::uint32_t i = 0; i < call.count; ++i) {
    if (endpoints_.reserved(*call.baseLeId + i)) wrong = "an id is reserved already";
    endpoints_.ids.push_back(*call.baseLeId + i);
  }
  return wrong;
}

Judgement Reference::judge(const calls::LogicalEndpointIdRelease& call, Actor) const {
  Judgement out;
  out.loose = call.count == 0;
  for (std::uint32_t i = 0; i < call.count; ++i) {
    if (!endpoints_.reserved(call.baseLeId + i)) out.add(Rule::kEpReleaseReserved);
    if (endpoints_.find(call.baseLeId + i)) out.add(Rule::kEpReleaseUnused);
  }
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointIdRelease& call) {
  for (std::uint32_t i = 0; i < call.count; ++i) std::erase(endpoints_.ids, call.baseLeId + i);
  return nullptr;
}

std::vector<std::uint32_t> Reference::endpoints() const {
  std::vector<std::uint32_t> out;
  for (const Endpoint& endpoint : endpoints_.names) {
    if (endpoint.live) out.push_back(endpoint.id);
  }
  return out;
}

std::vector<std::uint32_t> Reference::endpoint_ids() const { return endpoints_.ids; }

// --- Endpoints and their devices

void Reference::judge_new_endpoint(Judgement& out, std::uint32_t id) const {
  if (!endpoints_.reserved(id)) out.add(Rule::kEpIdReserved);
  if (endpoints_.find(id)) out.add(Rule::kEpIdFree);
}

// `asked`: the call only asks for limits; all such calls have one rule.
void Reference::judge_endpoint_prop(Judgement& out, const CUlogicalEndpointProp& prop,
                                    bool asked) const {
  const auto add = [&](Rule rule) { out.add(asked ? Rule::kEpLimitsPropValid : rule); };
  const auto type = static_cast<unsigned>(prop.type);
  if (type == kUnicast) {
    if (!valid_device(prop.unicast.device)) add(Rule::kEpCreateDevice);
  } else if (type == kTeamed) {
    if (prop.multicast.numDevices == 0) add(Rule::kEpCreateDevices);
    // The limits that a machine with one device reports for teams are unknown.
    if (machine_.devices < 2) asked ? void(out.loose = true) : out.add(Rule::kEpCreateMulticast);
  } else {
    add(Rule::kEpCreateType);
  }
  if (prop.ipcHandleTypes & ~kFabric) add(Rule::kEpCreateHandleTypes);
  if (prop.flags & ~1u) add(Rule::kEpCreateFlags);
}

Judgement Reference::judge(const calls::LogicalEndpointCreate& call, Actor) const {
  Judgement out;
  judge_new_endpoint(out, call.leId);
  if (!call.prop) {
    out.add(Rule::kEpCreatePropNonnull);
    return out;
  }
  judge_endpoint_prop(out, *call.prop, false);
  if (call.prop->size == 0) out.add(Rule::kEpCreateSizeNonzero);
  if (!aligned(call.prop->size)) out.add(Rule::kEpCreateSizeAligned);
  if (call.prop->size > kLargest) out.add(Rule::kEpCreateSizeMax);
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointCreate& call) {
  const CUlogicalEndpointProp& prop = *call.prop;
  const bool team = static_cast<unsigned>(prop.type) == kTeamed;
  EndpointState::Object made{.team = team,
                             .owner = team ? -1 : prop.unicast.device,
                             .devices = team ? prop.multicast.numDevices : 1,
                             .size = prop.size,
                             .types = prop.ipcHandleTypes,
                             .added = {}};
  if (!team) made.added.push_back(made.owner);
  endpoints_.names.push_back(
      {.id = call.leId, .object = static_cast<int>(endpoints_.objects.size()), .imported = false});
  endpoints_.objects.push_back(std::move(made));
  return nullptr;
}

Judgement Reference::judge(const calls::LogicalEndpointAddDevice& call, Actor) const {
  Judgement out;
  const Endpoint* endpoint = judge_endpoint(out, call.leId);
  const EndpointState::Object* object = endpoint ? &object_of(*endpoint) : nullptr;
  if (object && !object->team) out.add(Rule::kEpAddMulticast);
  if (!valid_device(call.dev)) {
    out.add(Rule::kEpAddDeviceExists);
  } else if (object && object->team && object->member(call.dev)) {
    out.add(Rule::kEpAddOnce);
  } else if (object && object->team && object->complete()) {
    out.add(Rule::kEpAddLimit);
  }
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointAddDevice& call) {
  const Endpoint* endpoint = endpoints_.find(call.leId);
  if (!endpoint) return "a device was added to nothing";
  const_cast<EndpointState::Object&>(object_of(*endpoint)).added.push_back(call.dev);
  return nullptr;
}

Judgement Reference::judge(const calls::LogicalEndpointDestroy& call, Actor) const {
  Judgement out;
  judge_endpoint(out, call.leId);
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointDestroy& call) {
  const Endpoint* endpoint = endpoints_.find(call.leId);
  if (!endpoint) return "no endpoint was destroyed";
  const_cast<Endpoint*>(endpoint)->live = false;
  // No document says whether the other names keep the bindings of this one.
  auto& object = const_cast<EndpointState::Object&>(object_of(*endpoint));
  for (const EndpointState::Binding& b : object.bindings) {
    object.vague = object.vague || (b.live && b.by == endpoints_.index(*endpoint));
  }
  return nullptr;
}

Judgement Reference::judge(const calls::LogicalEndpointGetLimits& call, Actor) const {
  Judgement out;
  if (!call.bindAlignment) out.add(Rule::kEpLimitsAlignmentNonnull);
  if (!call.maxSize) out.add(Rule::kEpLimitsMaxNonnull);
  if (call.prop) {
    judge_endpoint_prop(out, *call.prop, true);
  } else {
    out.add(Rule::kEpLimitsPropNonnull);
  }
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointGetLimits& call) {
  if (*call.bindAlignment != kGranule) return "bindAlignment is not 2 MiB";
  return *call.maxSize == kLargest ? nullptr : "maxSize is not what the profile says";
}

Judgement Reference::judge(const calls::LogicalEndpointQuery& call, Actor) const {
  Judgement out;
  if (!call.queryStatus) out.add(Rule::kEpQueryOutNonnull);
  for (std::uint32_t i = 0; i < call.count; ++i) judge_endpoint(out, call.leId + i);
  out.loose = call.count == 0;
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointQuery& call) {
  bool ready = true;
  for (std::uint32_t i = 0; i < call.count; ++i) {
    const Endpoint* endpoint = endpoints_.find(call.leId + i);
    if (!endpoint) return "something was asked of no endpoint";
    ready = ready && object_of(*endpoint).complete();
  }
  for (std::uint32_t i = 0; ready && i < call.count; ++i) {
    const_cast<Endpoint*>(endpoints_.find(call.leId + i))->ready = true;
  }
  if (call.count == 0 || ready == (*call.queryStatus != 0)) return nullptr;
  return ready ? "an endpoint with all its devices is not ready" : "a device is missing";
}

// --- Export and import

Judgement Reference::judge(const calls::LogicalEndpointExport& call, Actor) const {
  Judgement out;
  if (!call.handle) out.add(Rule::kEpExportOutNonnull);
  const Endpoint* endpoint = judge_endpoint(out, call.leId);
  if (static_cast<unsigned>(call.handleType) != kFabric) {
    out.add(Rule::kEpExportType);
  } else if (endpoint && endpoint->imported) {
    out.loose = true;  // the endpoint was created in another process
  } else if (endpoint && object_of(*endpoint).types == 0) {
    out.add(Rule::kEpExportAllowed);
  }
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointExport& call) {
  const Endpoint* endpoint = endpoints_.find(call.leId);
  if (!endpoint) return "no endpoint was exported";
  const EndpointState::Ticket* other = endpoints_.ticket(call.handle);
  const bool same =
      !other || endpoints_.names[static_cast<std::size_t>(other->name)].object == endpoint->object;
  if (!same) return "the bytes are those of another endpoint";
  EndpointState::Ticket made{{}, endpoints_.index(*endpoint)};
  std::memcpy(made.bytes.data(), call.handle, made.bytes.size());
  if (!other) endpoints_.tickets.push_back(made);
  return nullptr;
}

Judgement Reference::judge(const calls::LogicalEndpointImport& call, Actor) const {
  Judgement out;
  judge_new_endpoint(out, call.leId);
  if (static_cast<unsigned>(call.handleType) != kFabric) out.add(Rule::kEpImportType);
  if (!call.handle) {
    out.add(Rule::kEpImportNonnull);
    return out;
  }
  const EndpointState::Ticket* ticket = endpoints_.ticket(call.handle);
  const Endpoint* of = ticket ? &endpoints_.names[static_cast<std::size_t>(ticket->name)] : nullptr;
  if (!of || endpoints_.names_of(of->object) == 0) {
    out.add(Rule::kEpImportValid);
  } else if (!of->live && out.count == 0) {
    out.loose = true;  // the exporter's name ended, and another name did not
  }
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointImport& call) {
  const EndpointState::Ticket* ticket = endpoints_.ticket(call.handle);
  if (!ticket) return "bytes of no endpoint were imported";
  const int object = endpoints_.names[static_cast<std::size_t>(ticket->name)].object;
  endpoints_.names.push_back({.id = call.leId, .object = object, .imported = true});
  return nullptr;
}

// --- Bindings

Reference::EndpointBind Reference::bind_of(const calls::LogicalEndpointBindMem& call) const {
  const Named* named = call.memHandle ? handle(call.memHandle) : nullptr;
  const bool there = named && named->alive();
  return {call.leId,
          call.dev,
          call.offset,
          call.size,
          call.flags,
          call.memOffset,
          there ? named->memory : -1,
          there ? static_cast<int>(named - handles_.data()) : -1,
          -1,
          call.memOffset};
}

Reference::EndpointBind Reference::bind_of(const calls::LogicalEndpointBindAddr& call) const {
  const auto at = reinterpret_cast<std::uint64_t>(call.ptr);
  EndpointBind out{call.leId, call.dev, call.offset, call.size, call.flags, at, -1, -1, -1, 0};
  if (const Cell* cell = at ? mapped_at(at) : nullptr) {
    const Mapped& m = mappings_[static_cast<std::size_t>(cell->mapping)];
    out.handle = m.handle;
    out.memory = handles_[static_cast<std::size_t>(m.handle)].memory;
    out.memory_offset = at - m.base + m.offset;
  } else if (const PlainMemory* plain = plain_.at(at)) {
    if (plain->kind == PlainMemory::Kind::kPool || plain->kind == PlainMemory::Kind::kTaken) {
      out.plain = plain_.index(*plain);
      out.memory = plain->memory;
      out.memory_offset = at - plain->base + plain->offset;
    }
  }
  return out;
}

void Reference::judge_bind(Judgement& out, const EndpointBind& bind) const {
  const Endpoint* endpoint = judge_endpoint(out, bind.id);
  const EndpointState::Object* object = endpoint ? &object_of(*endpoint) : nullptr;
  if (endpoint && !endpoint->ready) {
    out.add(Rule::kEpBindReady);
    if (endpoints_.ready_by_any(endpoint->object)) out.loose = true;
  }
  const bool taken = endpoint && endpoint->imported && !object->team;
  if (taken) out.add(Rule::kEpBindImported);
  if (bind.flags) out.add(Rule::kEpBindFlagsZero);
  if (bind.size == 0) out.add(Rule::kEpBindSizeNonzero);
  if (!aligned(bind.size)) out.add(Rule::kEpBindSizeAligned);
  if (!aligned(bind.offset)) out.add(Rule::kEpBindOffsetAligned);
  if (!aligned(bind.memory_at)) out.add(Rule::kEpBindMemoryAligned);
  if (object && !inside(bind.offset, bind.size, object->size)) out.add(Rule::kEpBindInside);
  if (!valid_device(bind.device) || (object && !taken && !object->member(bind.device))) {
    out.add(Rule::kEpBindDevice);
  }
  if (object && object->vague) out.loose = true;
  for (std::size_t i = 0; object && i < object->bindings.size(); ++i) {
    const EndpointState::Binding& b = object->bindings[i];
    if (!b.live || b.device != bind.device || !b.meets(bind.offset, bind.size)) continue;
    out.add(Rule::kEpBindVacant);
    if (ended(b)) out.loose = true;
  }
  if (bind.memory < 0) return;
  const Memory& memory = memories_[static_cast<std::size_t>(bind.memory)];
  if (!inside(bind.memory_offset, bind.size, memory.size)) out.add(Rule::kEpBindInsideMemory);
  if (memory.team >= 0) {
    out.add(Rule::kEpBindMemoryKind);
    return;
  }
  const int type = static_cast<int>(memory.prop.location.type);
  if (type == 1 && memory.prop.location.id != bind.device) out.add(Rule::kEpBindMemoryDevice);
  // The memory lies on the host, on an unknown node.
  if (type == 2) out.loose = true;
  const bool shared = object && object->team && (object->types || endpoint->imported);
  bool sealed = static_cast<unsigned>(memory.prop.requestedHandleTypes) == 0;
  if (bind.plain >= 0) {
    const PlainMemory& plain = plain_.all()[static_cast<std::size_t>(bind.plain)];
    const auto& pool = pool_state_.pools[static_cast<std::size_t>(plain.owner)];
    sealed = plain.kind == PlainMemory::Kind::kPool && pool.types == 0;
    if (shared && sealed && !pool.live) out.loose = true;  // the pool took the facts about it along
  }
  if (shared && sealed) out.add(Rule::kEpBindShareable);
}

Judgement Reference::judge(const calls::LogicalEndpointBindMem& call, Actor) const {
  Judgement out;
  judge_handle(out, call.memHandle, Rule::kEpBindMemoryNonzero, Rule::kEpBindMemoryValid,
               Rule::kEpBindMemoryAlive, Rule::kEpBindMemoryReferenced);
  judge_bind(out, bind_of(call));
  return out;
}

Judgement Reference::judge(const calls::LogicalEndpointBindAddr& call, Actor) const {
  Judgement out;
  const auto at = reinterpret_cast<std::uint64_t>(call.ptr);
  const EndpointBind bind = bind_of(call);
  if (at == 0) {
    out.add(Rule::kEpBindMemoryNonzero);
  } else if (bind.memory < 0) {
    out.add(Rule::kEpBindMemoryKind);
    // Memory that came by another route may be of cuMemCreate.
    const PlainMemory* plain = plain_.at(at);
    out.loose = plain && plain->kind == PlainMemory::Kind::kExternal;
  }
  if (ambiguous(at)) out.loose = true;
  judge_bind(out, bind);
  // The address may be of an allocation that is mapped in part, or in two neighbouring mappings.
  if (const Cell* cell = at ? mapped_at(at) : nullptr) {
    const Mapped& m = mappings_[static_cast<std::size_t>(cell->mapping)];
    const bool past = call.size > m.size - (at - m.base);
    if (past && !out.breaks(Rule::kEpBindInsideMemory)) out.loose = true;
  }
  return out;
}

const char* Reference::bind(const EndpointBind& bind) {
  const Endpoint* endpoint = endpoints_.find(bind.id);
  if (!endpoint || bind.memory < 0) return "nothing was bound, or to nothing";
  auto& object = const_cast<EndpointState::Object&>(object_of(*endpoint));
  object.bindings.push_back({.device = bind.device,
                             .offset = bind.offset,
                             .size = bind.size,
                             .memory = bind.memory,
                             .handle = bind.handle,
                             .plain = bind.plain,
                             .memory_offset = bind.memory_offset,
                             .by = endpoints_.index(*endpoint)});
  return nullptr;
}

const char* Reference::accept(const calls::LogicalEndpointBindMem& call) {
  return bind(bind_of(call));
}
const char* Reference::accept(const calls::LogicalEndpointBindAddr& call) {
  return bind(bind_of(call));
}

Judgement Reference::judge(const calls::LogicalEndpointUnbind& call, Actor) const {
  Judgement out;
  const Endpoint* endpoint = judge_endpoint(out, call.leId);
  const EndpointState::Object* object = endpoint ? &object_of(*endpoint) : nullptr;
  const bool taken = endpoint && endpoint->imported && !object->team;
  if (!valid_device(call.dev) || (object && !taken && !object->member(call.dev))) {
    out.add(Rule::kEpUnbindDevice);
  }
  if (!aligned(call.offset) || !aligned(call.size)) out.add(Rule::kEpUnbindAligned);
  if (!object) return out;
  bool starts = false, whole = true, ends = false;
  for (const EndpointState::Binding& b : object->bindings) {
    if (!b.live || b.device != call.dev) continue;
    starts = starts || b.offset == call.offset;
    if (!b.meets(call.offset, call.size) && b.offset != call.offset) continue;
    if (ended(b) || b.by != endpoints_.index(*endpoint)) out.loose = true;
    if (!b.meets(call.offset, call.size)) continue;
    whole = whole && b.offset >= call.offset && inside(b.offset - call.offset, b.size, call.size);
    ends = ends || b.offset + b.size == call.offset + call.size;
  }
  if (!starts) out.add(Rule::kEpUnbindBound);
  if (starts ? !whole || !ends : !whole) out.add(Rule::kEpUnbindExact);
  if (object->vague) out.loose = true;
  return out;
}

const char* Reference::accept(const calls::LogicalEndpointUnbind& call) {
  const Endpoint* endpoint = endpoints_.find(call.leId);
  if (!endpoint) return "something was unbound from nothing";
  auto& object = const_cast<EndpointState::Object&>(object_of(*endpoint));
  for (EndpointState::Binding& b : object.bindings) {
    if (!b.live || b.device != call.dev || !b.meets(call.offset, call.size)) continue;
    b.live = false;
    if (b.by != endpoints_.index(*endpoint)) object.vague = true;
  }
  return nullptr;
}

}  // namespace cuvmm::fuzz
