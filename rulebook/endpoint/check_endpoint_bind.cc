// SPDX-License-Identifier: Apache-2.0
// The entry points that bind memory to a logical endpoint, and cuLogicalEndpointUnbind.
#include <algorithm>

#include "rulebook/check/check_prop.h"
#include "rulebook/endpoint/check_endpoint.h"

namespace cuvmm {
using namespace detail;

namespace {

// The memory that is bound, as far as it is known: one of the two, or neither.
struct Bound {
  const Allocation* memory = nullptr;
  const PoolMemory* pooled = nullptr;

  const CUmemLocation* place() const {
    if (pooled) return pooled->location.type != 0 ? &pooled->location : nullptr;
    return memory && memory->prop_known ? &memory->prop.location : nullptr;
  }
  ObjectRef object() const { return pooled ? ref(*pooled) : ref(*memory); }
};

Bound check_memory(Collector& out, const Model& model, const EndpointBind& bind,
                   const Facts& facts) {
  if (!bind.by_address) {
    return {check_handle(out, model, bind.memory,
                         {Rule::kEpBindMemoryNonzero, Rule::kEpBindMemoryValid,
                          Rule::kEpBindMemoryAlive, Rule::kEpBindMemoryReferenced},
                         facts)};
  }
  if (bind.address == 0) {
    out.add(Rule::kEpBindMemoryNonzero, "ptr is 0");
    return {};
  }
  if (const Mapping* m = model.mapping_at(bind.address)) return {model.allocation(m->handle)};
  if (const PoolMemory* m = model.pools().memory_at(bind.address)) return {nullptr, m};
  const bool reserved = model.reservation_at(bind.address) != nullptr;
  Violation& v =
      out.add(Rule::kEpBindMemoryKind,
              reserved ? "nothing is mapped at " + hex_text(bind.address)
                       : hex_text(bind.address) + " is not in a mapping that cuvmm saw being made",
              reserved || certainly_not_reserved(model, bind.address));
  attach_history(v, model, bind.address);
  return {};
}

void check_inside_memory(Collector& out, const Model& model, const EndpointBind& bind,
                         const Bound& bound) {
  if (!bound.memory && !bound.pooled) return;
  const Mapping* m = bind.by_address && !bound.pooled ? model.mapping_at(bind.address) : nullptr;
  const Size total = bound.pooled ? bound.pooled->size : m ? m->size : bound.memory->size;
  const Address base = bound.pooled ? bound.pooled->base : m ? m->base : 0;
  const Size at = bind.by_address ? bind.address - base : bind.memory_offset;
  if (total == 0 || (at <= total && bind.size <= total - at)) return;
  out.add(Rule::kEpBindInsideMemory, size_text(bind.size) + " at offset " + size_text(at) +
                                         " go past the end of the memory, which has " +
                                         size_text(total))
      .objects.push_back(bound.object());
}

void check_sizes(Collector& out, const Model& model, const EndpointBind& bind,
                 const Endpoint* endpoint) {
  // The documentation only demands a multiple, and 0 is a multiple, so this needs the driver's
  // refusal.
  if (bind.size == 0) out.add(Rule::kEpBindSizeNonzero, "size is 0", model.platform().complete);
  const Size alignment = endpoint ? endpoint->alignment : 0;
  const auto look = [&](Rule rule, const std::string& what, Size value) {
    if (alignment == 0 || value % alignment == 0) return;
    out.add(rule, what + " is not a multiple of bindAlignment, " + size_text(alignment));
  };
  look(Rule::kEpBindSizeAligned, "size " + size_text(bind.size), bind.size);
  look(Rule::kEpBindOffsetAligned, "offset " + size_text(bind.offset), bind.offset);
  if (bind.by_address) {
    look(Rule::kEpBindMemoryAligned, "ptr " + hex_text(bind.address), bind.address);
  } else {
    look(Rule::kEpBindMemoryAligned, "memOffset " + size_text(bind.memory_offset),
         bind.memory_offset);
  }
  if (endpoint && endpoint->size != 0 &&
      (bind.offset > endpoint->size || bind.size > endpoint->size - bind.offset)) {
    out.add(Rule::kEpBindInside, size_text(bind.size) + " at offset " + size_text(bind.offset) +
                                     " go past the end of the endpoint, which has " +
                                     size_text(endpoint->size))
        .objects.push_back(ref(*endpoint));
  }
}

void check_device(Collector& out, const EndpointBind& bind, const Endpoint* endpoint,
                  const Bound& bound, const Facts& facts) {
  bool certain = true;
  if (endpoint && not_of_endpoint(*endpoint, bind.device, facts, certain)) {
    out.add(Rule::kEpBindDevice,
            endpoint->unicast() ? "dev is " + std::to_string(bind.device) + ", and the owner is " +
                                      std::to_string(endpoint->owner)
                                : "device " + std::to_string(bind.device) + " was not added",
            certain)
        .objects.push_back(ref(*endpoint));
  }
  const CUmemLocation* const place = bound.place();
  if (!place) return;
  const int type = static_cast<int>(place->type);
  const bool elsewhere = type == kLocationDevice && place->id != bind.device;
  if (elsewhere || type == kLocationHost) {
    out.add(Rule::kEpBindMemoryDevice,
            "dev is " + std::to_string(bind.device) + ", and the memory is on " + location(*place),
            elsewhere)  // the documentation says nothing about the host in general
        .objects.push_back(bound.object());
  }
}

void check_vacant(Collector& out, const Model& model, const EndpointBind& bind,
                  const Endpoint& endpoint) {
  for (const EndpointBinding& b : endpoint.bindings) {
    if (b.device != bind.device || !overlap(b.offset, b.size, bind.offset, bind.size)) continue;
    if (!still_bound(model, b)) continue;
    // The documentation does not say this, so it needs the driver's refusal.
    out.add(Rule::kEpBindVacant,
            size_text(bind.size) + " at offset " + size_text(bind.offset) +
                " overlap what device " + std::to_string(bind.device) + " has bound at offset " +
                size_text(b.offset),
            false)
        .objects = {ref(endpoint), ref(b)};
    return;
  }
}

void check_shareable(Collector& out, const Model& model, const Endpoint& endpoint,
                     const Bound& bound) {
  const bool open = endpoint.imported || endpoint.handle_types != 0;
  if (!endpoint.multicast() || !open) return;
  const Pool* pool = bound.pooled ? model.pools().find(bound.pooled->pool) : nullptr;
  const Allocation* memory = bound.memory;
  const bool of_pool = pool && !pool->imported && pool->handle_types == 0;
  const bool of_memory = memory && memory->prop_known && !memory->imported &&
                         static_cast<unsigned>(memory->prop.requestedHandleTypes) == 0;
  if (!of_pool && !of_memory) return;
  const std::string what =
      of_pool ? "the pool of " + hex_text(bound.pooled->base) : handle_text(memory->handle);
  out.add(Rule::kEpBindShareable, what + " was created without handle types, and " +
                                      endpoint_text(endpoint.id) + " can be shared")
      .objects = {bound.object(), ref(endpoint)};
}

Violations check_bind(const Model& model, const EndpointBind& bind, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Endpoint* endpoint = check_endpoint(out, model, bind.endpoint);
  if (bind.flags != 0) {
    out.add(Rule::kEpBindFlagsZero, "flags is " + hex_text(bind.flags) + ", not 0");
  }
  Bound bound = check_memory(out, model, bind, facts);
  check_sizes(out, model, bind, endpoint);
  check_inside_memory(out, model, bind, bound);
  if (bound.memory && model.multicast(bound.memory->handle)) {
    out.add(Rule::kEpBindMemoryKind,
            handle_text(bound.memory->handle) + " is a handle of a multicast object, not of memory")
        .objects.push_back(ref(*bound.memory));
    bound = {};
  }
  check_device(out, bind, endpoint, bound, facts);
  if (!endpoint) return out.take();
  check_shareable(out, model, *endpoint, bound);
  if (endpoint->imported && endpoint->unicast()) {
    out.add(Rule::kEpBindImported, endpoint_text(endpoint->id) + " was imported")
        .objects.push_back(ref(*endpoint));
  } else if (endpoint->imported && !endpoint->multicast()) {
    // Only the driver knows the type of the endpoint.
    out.add(Rule::kEpBindImported,
            endpoint_text(endpoint->id) + " was imported, and may be a unicast one", false)
        .objects.push_back(ref(*endpoint));
  }
  if (bind.size != 0) check_vacant(out, model, bind, *endpoint);
  if (!endpoint->ready) {
    out.add(Rule::kEpBindReady, "cuLogicalEndpointQuery has not answered yet that " +
                                    endpoint_text(endpoint->id) + " is ready")
        .objects.push_back(ref(*endpoint));
  }
  return out.take();
}

}  // namespace

Violations check(const Model& model, const calls::LogicalEndpointBindMem& call,
                 const Facts& facts) {
  return check_bind(model, bind_of(call), facts);
}

Violations check(const Model& model, const calls::LogicalEndpointBindAddr& call,
                 const Facts& facts) {
  return check_bind(model, bind_of(call), facts);
}

Violations check(const Model& model, const calls::LogicalEndpointUnbind& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Endpoint* endpoint = check_endpoint(out, model, call.leId);
  if (!endpoint) return out.take();
  bool certain = true;
  if (not_of_endpoint(*endpoint, call.dev, facts, certain)) {
    out.add(Rule::kEpUnbindDevice,
            "device " + std::to_string(call.dev) + " is not one of " + endpoint_text(call.leId),
            certain)
        .objects.push_back(ref(*endpoint));
    return out.take();
  }
  const Size alignment = endpoint->alignment;
  if (alignment != 0 && (call.offset % alignment != 0 || call.size % alignment != 0)) {
    out.add(Rule::kEpUnbindAligned,
            "offset " + size_text(call.offset) + " or size " + size_text(call.size) +
                " is not a multiple of bindAlignment, " + size_text(alignment));
    return out.take();
  }
  // If an endpoint was made by a route that cuvmm did not see, its list of bindings is incomplete.
  const bool all_known = model.platform().complete || endpoint->type != 0;
  const EndpointBinding* first = nullptr;  // the binding at the offset
  const EndpointBinding* cut = nullptr;    // a binding that the range covers only in part
  bool ends = false;                       // a binding ends where the range ends
  for (const EndpointBinding& b : endpoint->bindings) {
    if (b.device != call.dev) continue;
    if (b.offset == call.offset) first = &b;
    if (call.size == 0 || !overlap(b.offset, b.size, call.offset, call.size)) continue;
    const bool whole = b.offset >= call.offset && b.offset - call.offset <= call.size - b.size &&
                       b.size <= call.size;
    if (!whole) cut = &b;
    if (whole && b.offset - call.offset + b.size == call.size) ends = true;
  }
  if (cut || (first && !ends)) {
    const EndpointBinding& b = cut ? *cut : *first;
    out.add(Rule::kEpUnbindExact,
            size_text(call.size) + " at offset " + size_text(call.offset) +
                " are not what was bound: " + size_text(b.size) + " at offset " +
                size_text(b.offset),
            all_known)
        .objects = {ref(*endpoint), ref(b)};
  } else if (!first) {
    out.add(Rule::kEpUnbindBound,
            "nothing of device " + std::to_string(call.dev) + " is bound at offset " +
                size_text(call.offset),
            all_known && !endpoint->imported)
        .objects.push_back(ref(*endpoint));
  }
  return out.take();
}

}  // namespace cuvmm
