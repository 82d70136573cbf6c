// SPDX-License-Identifier: Apache-2.0
// Copies, fills and frees that touch VMM addresses.
#include <algorithm>

#include "rulebook/check/check_prop.h"
#include "rulebook/check/touch.h"
#include "rulebook/order/check_work.h"
#include "rulebook/sharing/check_multicast.h"

namespace cuvmm {
using namespace detail;

namespace {

bool on_host(const Model& model, const Mapping& mapping) {
  const Allocation* a = model.allocation(mapping.handle);
  return a && a->prop_known && is_host(a->prop.location);
}

bool place_unknown(const Model& model, const Mapping& mapping) {
  const Allocation* a = model.allocation(mapping.handle);
  return !a || !a->prop_known;
}

bool on_host(const Model& model, Address address) {
  const Mapping* m = model.mapping_at(address);
  return m && on_host(model, *m);
}

// The message for bytes that begin in a reservation and run over its end.
std::string past_end(const Reservation& r, Address base, Size size) {
  return ", which runs " + size_text(size - (r.size - (base - r.base))) +
         " past the end of reservation " + hex_text(r.base) + " (" + size_text(r.size) + ")";
}

// Checks one contiguous run of bytes. True if it is all right, or if cuvmm does not check it: bytes
// outside of every reservation belong to the host or to cuMemAlloc.
bool check_run(Collector& out, const Model& model, const Touch& touch, const Touch* source,
               Address base, Size size, int device) {
  const std::uint64_t bit = device >= 0 && device < 63 ? std::uint64_t{1} << device : 0;
  Address at = base;
  Size left = size;
  while (left != 0) {
    const Mapping* m = model.mapping_at(at);
    if (!m) {
      const bool reserved = model.reservation_at(at) != nullptr;
      if (!reserved && at == base && !model.reservation_at(touch.base) &&
          !model.mapping_at(touch.base))
        return true;
      const Reservation* begun = reserved ? nullptr : model.reservation_at(base);
      Violation& v =
          out.add(Rule::kDataMapped,
                  std::string(touch.parameter) + ": nothing is mapped at " + hex_text(at) + " in " +
                      range(base, size) + (begun ? past_end(*begun, base, size) : ""),
                  reserved || model.platform().complete);
      if (begun) v.objects.push_back(ref(*begun));
      attach_history(v, model, at);
      return false;
    }
    const std::uint64_t mask =
        (touch.write ? m->access.write : m->access.read) & ~AccessMask::kDeviceLastBit;
    bool allowed = bit ? (mask & bit) != 0 : mask != 0;
    // The CPU makes a copy to or from memory on the host in two cases: the device has no access to
    // the memory; or both sides lie on the host and the host has some access. The driver still
    // refuses a copy for which the device has too little access, if the device has some (an H200
    // was asked).
    const bool host_reads =
        (m->access.read & AccessMask::kHostBit) && bit && !touch.fill && !touch.on_gpu;
    bool by_cpu = false;
    if (host_reads && on_host(model, *m)) {
      by_cpu = !(m->access.read & bit) ||
               (allowed && (touch.from_host || (source && on_host(model, source->base))));
      if (by_cpu) allowed = (mask & AccessMask::kHostBit) != 0;
    }
    if (!allowed) {
      const std::string who = by_cpu        ? "the host, whose CPU makes this copy,"
                              : device >= 0 ? "device " + std::to_string(device)
                                            : std::string("any device");
      Violation& v = out.add(touch.write ? Rule::kDataWritable : Rule::kDataReadable,
                             std::string(touch.parameter) + ": " + who + " has no " +
                                 (touch.write ? "write" : "read") + " access to " + hex_text(at) +
                                 " in the mapping " + range(m->base, m->size),
                             !host_reads || !place_unknown(model, *m));
      v.objects.push_back(ref(*m));
      if (const Allocation* a = model.allocation(m->handle)) v.objects.push_back(ref(*a));
      return false;
    }
    const Size rest = m->size - (at - m->base);
    if (!model.multicasts().empty() &&
        !check_multicast_touch(out, model, *m, touch.parameter, touch.write,
                               m->offset + (at - m->base), std::min(rest, left)))
      return false;
    if (rest >= left) break;
    at += rest;
    left -= rest;
  }
  return true;
}

// Memory of a pool. Memory on a device is open to that device and to devices that were given
// access, whatever peer access their contexts have. Memory on the host: an H200 treats it as memory
// of the host in copies between devices and the host, and fills it for devices that were given
// access to the pool.
void check_pool_touch(Collector& out, const Model& model, const Touch& touch, const PoolMemory& m,
                      int device) {
  const bool own = is_device(m.location) && device_of(m.location) == device;
  const bool given = device < 0 || device >= 64 || (model.pools().access_to(m) >> device & 1);
  Violation* v = nullptr;
  if (m.on_host() && touch.device_only) {
    v = &out.add(Rule::kDataPoolOnHost, std::string(touch.parameter) + ": " + hex_text(touch.base) +
                                            " is memory of a pool on the host");
  } else if (!own && !given && (touch.fill || !m.on_host())) {
    v = &out.add(Rule::kDataPoolAccess,
                 std::string(touch.parameter) + ": device " + std::to_string(device) +
                     " has no access to the pool of " + hex_text(touch.base) + ", which is on " +
                     location(m.location));
  }
  if (!v) return;
  v->objects.push_back(ref(m));
  if (const Pool* pool = model.pools().find(m.pool)) v->objects.push_back(ref(*pool));
}

// Memory that the context of one device brought into the address space: an H200 lets no other
// device fill it, but makes copies for all devices.
Violation* check_fill_device(Collector& out, const Touch& touch, const char* how, int owner,
                             int device) {
  if (!touch.fill || owner < 0 || device < 0 || owner == device) return nullptr;
  return &out.add(Rule::kDataFillDevice, std::string(touch.parameter) + ": device " +
                                             std::to_string(device) + " fills " +
                                             hex_text(touch.base) + ", which a context of device " +
                                             std::to_string(owner) + how);
}

void check_buffer_touch(Collector& out, const Touch& touch, const ExternalBuffer& b, int device) {
  if (Violation* v = check_fill_device(out, touch, " imported", b.device, device)) {
    v->objects.push_back(ref(b));
  }
  if (!b.memory_ended) return;
  Violation& v =
      out.add(Rule::kExtBufferAfterDestroy,
              std::string(touch.parameter) + ": " + hex_text(touch.base) + " lies in the buffer " +
                  range(b.base, b.size) + " of an external memory that was destroyed");
  v.objects.push_back(ref(b));
  v.objects.push_back({ObjectRef::Kind::kExternalMemory, b.memory, 0, {}, b.ended});
}

// `source`: the range that the written bytes come from; null if it is not in device address space.
void check_touch(Collector& out, const Model& model, const Touch& touch, const Touch* source,
                 int device) {
  if (touch.width == 0 || touch.rows == 0 || touch.slices == 0) return;
  if (touch.base % touch.element != 0) {
    out.add(Rule::kDataFillAligned, std::string(touch.parameter) + ": " + hex_text(touch.base) +
                                        " is not a multiple of the element's " +
                                        std::to_string(touch.element) + " bytes");
  }
  if (const ExternalBuffer* b = model.external().buffer_at(touch.base)) {
    check_buffer_touch(out, touch, *b, device);
    return;
  }
  if (const PoolMemory* m = model.pools().bounded_memory_at(touch.base)) {
    check_pool_touch(out, model, touch, *m, device);
    return;
  }
  if (const IpcOpen* open = touch.fill ? model.ipc().open_at(touch.base) : nullptr) {
    if (Violation* v = check_fill_device(out, touch, " opened", open->device, device)) {
      v->objects.push_back(ref(*open));
    }
    return;
  }
  for (std::uint64_t slice = 0; slice < touch.slices; ++slice) {
    const Address start = touch.base + slice * touch.slice_pitch;
    // If all rows lie inside one mapping with access, one look-up is enough for thousands of rows.
    const Mapping* m = model.mapping_at(start);
    const Size span = (touch.rows - 1) * touch.pitch + touch.width;
    if (m && span <= m->size - (start - m->base)) {
      if (!check_run(out, model, touch, source, start, span, device)) return;
      continue;
    }
    for (std::uint64_t row = 0; row < touch.rows; ++row) {
      const Address at = start + row * touch.pitch;
      if (!check_run(out, model, touch, source, at, touch.width, device)) return;
    }
  }
}

Violations check_free(const Model& model, Address address, Rule rule, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (rule == Rule::kMemFreeNotVmm) check_free_of_opened(out, model, address);
  if (model.reservation_at(address) || model.mapping_at(address)) {
    Violation& v =
        out.add(rule, hex_text(address) + " is in a reservation, not in memory from cuMemAlloc");
    attach_history(v, model, address);
    v.fix = fix_of_reservation(model, address);
  } else if (out.empty()) {
    check_freed(out, model, address, false);
  }
  return out.take();
}

// The violations of a free while work uses the memory, for memory that the model knows to be alive.
Violations still_used(Address address, const Facts::Order& order, const Violations& others) {
  Collector out;
  add_work(out, order, Rule::kMemFreeInFlight, Rule::kMemFreeOrdered,
           "the memory at " + hex_text(address) + " is freed");
  Violations all = out.take();
  all.append(others);
  return all;
}

}  // namespace

Violations check_touches(const Model& model, EntryPoint, const Touch* touches, std::size_t count,
                         const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (facts.place.context == Facts::Answer::kNo) {
    out.add(Rule::kDataContext, "no context is current to the calling thread");
    return out.take();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int device = touches[i].peer_source ? facts.place.peer_device : facts.place.device;
    const Touch* const source = i == 0 && count == 2 ? &touches[1] : nullptr;
    check_touch(out, model, touches[i], source, device);
  }
  return out.take();
}

Violations check_refused_pool(const Model& model, const Touch& touch, int device, int owner) {
  const PoolMemory* const found = model.pools().memory_at(touch.base);
  if (!found || device < 0) return {};
  PoolMemory memory = *found;
  if (memory.location.type == CU_MEM_LOCATION_TYPE_INVALID) {
    if (owner < 0) return {};
    memory.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    memory.location.id = owner;
  }
  Collector out;
  check_pool_touch(out, model, touch, memory, device);
  Violations violations = out.take();
  for (Violation& v : violations) v.certain = false;
  return violations;
}

Violations check(const Model& model, const calls::MemFree& call, const Facts& facts) {
  Violations found = check_free(model, call.dptr, Rule::kMemFreeNotVmm, facts);
  if (facts.order.count != 0) return still_used(call.dptr, facts.order, found);
  if (found.empty()) return found;
  const Violation& v = found.front();
  if (v.rule != Rule::kFreeKnown && v.rule != Rule::kFreeOnce) return found;
  // A graph may have got the address again without cuvmm seeing it, so only a refusal makes this
  // certain.
  const auto ended_object = model.tombstones().find(ObjectRef::Kind::kExternalBuffer, call.dptr);
  const bool later = v.rule == Rule::kFreeOnce && ended_object &&
                     ended_object->ended.call < v.objects.front().ended.call;
  if (!ended_object || later) return found;
  Collector out;
  out.add(Rule::kExtBufferFreedOnce, "the buffer at " + hex_text(call.dptr) + " was freed already",
          false)
      .objects.push_back(*ended_object);
  return out.take();
}

Violations check(const Model& model, const calls::MemFreeAsync& call, const Facts& facts) {
  Violations found = check_free(model, call.dptr, Rule::kMemFreeAsyncNotVmm, facts);
  Collector out;
  check_stream(out, model, call.hStream);
  if (facts.order.count != 0) {
    add_work(out, facts.order, Rule::kMemFreeAsyncOrdered, Rule::kMemFreeAsyncOrdered,
             "the memory at " + hex_text(call.dptr) + " is freed");
  }
  if (out.empty()) return found;
  Violations all = out.take();
  all.append(found);
  return all;
}

}  // namespace cuvmm
