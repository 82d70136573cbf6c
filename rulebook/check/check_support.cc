// SPDX-License-Identifier: Apache-2.0
#include "rulebook/check/check_support.h"

#include "api/location.h"

namespace cuvmm {

const char* name(ObjectRef::Kind kind) {
  switch (kind) {
    case ObjectRef::Kind::kReservation:
      return "reservation";
    case ObjectRef::Kind::kAllocation:
    case ObjectRef::Kind::kRetained:
      return "allocation";
    case ObjectRef::Kind::kMapping:
      return "mapping";
    case ObjectRef::Kind::kExport:
      return "export";
    case ObjectRef::Kind::kBinding:
      return "multicast binding";
    case ObjectRef::Kind::kIpcMemory:
      return "ipc-memory";
    case ObjectRef::Kind::kPool:
      return "pool";
    case ObjectRef::Kind::kPoolMemory:
      return "pool-memory";
    case ObjectRef::Kind::kExternalMemory:
      return "external memory";
    case ObjectRef::Kind::kExternalBuffer:
      return "external buffer";
    case ObjectRef::Kind::kExternalSemaphore:
      return "external semaphore";
    case ObjectRef::Kind::kMemory:
      return "memory";
    case ObjectRef::Kind::kStream:
    case ObjectRef::Kind::kCapture:
      return "stream";
    case ObjectRef::Kind::kArray:
      return "array";
    case ObjectRef::Kind::kEndpointId:
      return "endpoint id";
    case ObjectRef::Kind::kEndpoint:
      return "logical endpoint";
    case ObjectRef::Kind::kWork:
      return "work";
    case ObjectRef::Kind::kEndpointBinding:
      return "endpoint binding";
    case ObjectRef::Kind::kCapturedEvent:
    case ObjectRef::Kind::kEvent:
      return "event";
    case ObjectRef::Kind::kContext:
      return "context";
    case ObjectRef::Kind::kGreenContext:
      return "green context";
    case ObjectRef::Kind::kModule:
      return "module";
    case ObjectRef::Kind::kLibrary:
      return "library";
    case ObjectRef::Kind::kGraph:
      return "graph";
    case ObjectRef::Kind::kExecutableGraph:
      return "executable graph";
    case ObjectRef::Kind::kFunction:
      return "function";
    case ObjectRef::Kind::kUsingNode:
      return "graph node that uses";
    case ObjectRef::Kind::kAllocatingNode:
      return "graph node that allocates";
    case ObjectRef::Kind::kFreeingNode:
      return "graph node that frees";
    case ObjectRef::Kind::kNode:
      return "graph node";
    case ObjectRef::Kind::kTexture:
      return "texture object";
    case ObjectRef::Kind::kSurface:
      return "surface object";
    case ObjectRef::Kind::kUserObject:
      return "user object";
    case ObjectRef::Kind::kCount:
      break;
  }
  return "?";
}

const char* how(const ObjectRef& object) {
  if (object.work) return "queued";
  if (object.kind == ObjectRef::Kind::kCapture) return "put into capture";
  if (object.kind == ObjectRef::Kind::kCapturedEvent) return "recorded";
  if (object.kind >= ObjectRef::Kind::kUsingNode) return "captured";
  return object.kind == ObjectRef::Kind::kRetained ? "retained" : "made";
}

namespace detail {

Violation& Collector::add(Rule rule, std::string message, bool certain) {
  violations_.push_back({rule, certain, std::move(message), {}});
  return violations_.back();
}

const char* fix_of_reservation(const Model& model, Address address) {
  return model.mapping_at(address)
             ? "Call cuMemUnmap for the mapping, cuMemRelease for its handle, and "
               "cuMemAddressFree for the reservation, once nothing is mapped in it."
             : "Call cuMemAddressFree with the reservation's address and size, once nothing is "
               "mapped in it.";
}

std::string times(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " time" : " times");
}

std::string range(std::uint64_t base, std::uint64_t size) {
  return "[" + hex_text(base) + ", " + hex_text(base + size) + ") (" + size_text(size) + ")";
}

std::string location(const CUmemLocation& location) {
  // Numbers, because older headers lack the newer enumerators.
  switch (static_cast<int>(location.type)) {
    case 1:
      return "device " + std::to_string(location.id);
    case 2:
      return "the host";
    case 3:
      return "NUMA node " + std::to_string(location.id);
    case 4:
      return "the current thread's NUMA node";
    case kLocationInvisible:
      return "a device that is not visible here (INVISIBLE)";
    case kLocationDomain: {
      const LocalityDomain at = locality_domain(location);
      return "locality domain " + std::to_string(at.domain) + " of device " +
             std::to_string(at.device);
    }
    default:
      return "location type " + std::to_string(static_cast<int>(location.type)) + ", id " +
             std::to_string(location.id);
  }
}

std::string handle_text(Handle handle) { return "handle " + hex_text(handle); }

ObjectRef ref(const Reservation& r) {
  return {ObjectRef::Kind::kReservation, r.base, r.size, r.made, {}};
}
ObjectRef ref(const Allocation& a) {
  // A retain makes nothing, and the model did not see the call that made this memory.
  if (!a.creation_seen) return retained(a);
  return {ObjectRef::Kind::kAllocation, a.handle, a.size, a.made, {}};
}
ObjectRef retained(const Allocation& a) {
  return {ObjectRef::Kind::kRetained, a.handle, a.size, a.retained, {}};
}
ObjectRef ref(const Mapping& m) { return {ObjectRef::Kind::kMapping, m.base, m.size, m.made, {}}; }
ObjectRef ref(const Export& e) {
  return {ObjectRef::Kind::kExport, static_cast<std::uint64_t>(e.fd), 0, e.made, {}};
}

ObjectRef ref(const ExternalMemory& m) {
  return {ObjectRef::Kind::kExternalMemory, m.handle, m.size, m.made, {}};
}
ObjectRef ref(const PlainMemory& m) {
  return {ObjectRef::Kind::kMemory, m.base, m.size, m.made, {}};
}
ObjectRef ref(const Pool& p) { return {ObjectRef::Kind::kPool, p.handle, 0, p.made, {}}; }
ObjectRef ref(const PoolMemory& m) {
  return {ObjectRef::Kind::kPoolMemory, m.base, m.size, m.made, {}};
}
ObjectRef ref(const IpcExport& e) { return {ObjectRef::Kind::kIpcMemory, e.base, 0, e.made, {}}; }
ObjectRef ref(const IpcOpen& o) {
  return {ObjectRef::Kind::kIpcMemory, o.pointer, o.size, o.made, {}};
}
ObjectRef ref(const ExternalBuffer& b) {
  return {ObjectRef::Kind::kExternalBuffer, b.base, b.size, b.made, {}};
}
ObjectRef ref(const ArrayObject& a) { return {ObjectRef::Kind::kArray, a.handle, 0, a.made, {}}; }

ObjectRef ref(const ExternalSemaphore& s) {
  return {ObjectRef::Kind::kExternalSemaphore, s.handle, 0, s.made, {}};
}

const Allocation* check_doubtful_handle(Collector& out, const Model& model, Handle handle,
                                        const HandleRules& rules, const Facts& facts) {
  if (handle == 0) {
    out.add(rules.nonzero, "the handle is 0");
    return nullptr;
  }
  if (const Allocation* a = model.allocation(handle)) {
    if (a->references == 0) {
      Violation& v = out.add(
          rules.referenced,
          handle_text(handle) + " has no reference left; only a mapping keeps its memory alive");
      v.objects.push_back(ref(*a));
      v.objects.back().ended = a->released;
    }
    return a;
  }
  if (auto ended_object = model.tombstones().find(ObjectRef::Kind::kAllocation, handle)) {
    out.add(rules.alive, handle_text(handle) + " was released, and its memory has ended")
        .objects.push_back(*ended_object);
    return nullptr;
  }
  const bool unreadable = facts.unicast.handle_readable == Facts::Answer::kNo;
  out.add(
      rules.valid,
      handle_text(handle) +
          (unreadable
               ? " was not returned by any call, and a driver that reads it as an address crashes"
               : " was not returned by any call that cuvmm saw in this process"),
      unreadable || model.platform().complete);
  return nullptr;
}

Coverage coverage_by_steps(const Model& model, Address base, Size size) {
  Coverage c;
  Address next = base;  // first byte not yet looked at
  for (auto it = model.first_mapping_after(base); it != model.mappings().end(); ++it) {
    const Mapping& m = it->second;
    if (!overlap(m.base, m.size, base, size)) break;
    if (m.base > next && !c.has_hole) {
      c.has_hole = true;
      c.hole = next;
    }
    c.any = true;
    if (m.base <= base) c.first = true;
    const bool past_start = m.base < base;
    const bool past_end =
        m.size > size - (past_start ? 0 : m.base - base) && m.base + m.size > base + size;
    if ((past_start || past_end) && !c.cut) c.cut = &m;
    c.last = reaches_end(m.base, m.size, base, size);
    next = m.base + m.size;
    if (c.last) break;
  }
  if (!c.last && !c.has_hole) {
    c.has_hole = true;
    c.hole = c.any ? next : base;
  }
  return c;
}

bool certainly_not_reserved(const Model& model, Address address) {
  return model.platform().complete || address == 0 ||
         model.tombstones().find_covering(ObjectRef::Kind::kReservation, address).has_value();
}

void attach_history(Violation& violation, const Model& model, Address address) {
  if (const Mapping* m = model.mapping_at(address)) {
    violation.objects.push_back(ref(*m));
  } else if (auto ended_object =
                 model.tombstones().find_covering(ObjectRef::Kind::kMapping, address)) {
    violation.objects.push_back(*ended_object);
  }
  if (const Reservation* r = model.reservation_at(address)) {
    violation.objects.push_back(ref(*r));
  } else if (auto ended_object =
                 model.tombstones().find_covering(ObjectRef::Kind::kReservation, address)) {
    violation.objects.push_back(*ended_object);
  }
}

}  // namespace detail
}  // namespace cuvmm
