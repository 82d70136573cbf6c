// SPDX-License-Identifier: Apache-2.0
// cuMemSetAccess and cuMemGetAccess.
#include "rulebook/check/check_prop.h"
#include "rulebook/order/check_work.h"
#include "rulebook/sharing/check_multicast.h"

namespace cuvmm {
using namespace detail;

namespace {

bool exists(const Platform& platform, int id) {
  return id >= 0 && (platform.device_count < 0 || id < platform.device_count);
}

std::string at_index(std::size_t i) { return "desc[" + std::to_string(i) + "]"; }

// Checks a descriptor without regard to the memory.
void check_descriptor(Collector& out, const Platform& platform, const CUmemAccessDesc& desc,
                      std::size_t i) {
  const auto flags = static_cast<unsigned>(desc.flags);
  if (flags != 0 && flags != 1 && flags != 3) {
    out.add(Rule::kAccessFlags, at_index(i) + ".flags is " + std::to_string(flags) +
                                    ", not NONE (0), READ (1) or READWRITE (3)");
  }
  const bool whole_device = static_cast<int>(desc.location.type) == kLocationDevice;
  if (whole_device && exists(platform, desc.location.id)) [[likely]]
    return;
  if (is_host(desc.location)) return;
  const bool unknown = is_domain(desc.location) && !has_domains(platform);
  if (!is_device(desc.location) || unknown) {
    out.add(Rule::kAccessLocationType,
            at_index(i) + " names " + location(desc.location) +
                ": the type is not DEVICE (1), HOST (2) or HOST_NUMA (3)");
  } else if (!exists(platform, device_of(desc.location))) {
    out.add(Rule::kAccessLocationDevice, at_index(i) + " names device " +
                                             std::to_string(device_of(desc.location)) +
                                             ", which does not exist");
  }
}

// Checks that every location of the descriptors may access a multicast object.
void check_team(Collector& out, const MulticastObject& object, const calls::MemSetAccess& call,
                const Facts& facts) {
  for (std::size_t i = 0; i < call.count; ++i) {
    const CUmemAccessDesc& desc = call.desc[i];
    if (static_cast<unsigned>(desc.flags) == 0) continue;  // the descriptor asks for no access
    if (is_host(desc.location)) {
      out.add(Rule::kAccessHostLocation,
              at_index(i) + " names " + location(desc.location) + " for a multicast object")
          .objects.push_back(ref(object));
      return;
    }
    const int device = device_of(desc.location);
    if (!is_device(desc.location) || in_team(added_devices(object, facts), device)) continue;
    out.add(Rule::kMcAccessMember,
            at_index(i) + ": device " + std::to_string(device) + " was not added to the team",
            team_certain(object, facts))
        .objects.push_back(ref(object));
    return;
  }
}

// Checks that every location of the descriptors can reach the memory behind one mapping.
void check_reach(Collector& out, const Model& model, const calls::MemSetAccess& call,
                 const Mapping& m, const Facts& facts) {
  if (const MulticastObject* object = model.multicast(m.handle)) {
    return check_team(out, *object, call, facts);
  }
  const Allocation* a = model.allocation(m.handle);
  if (!a || !a->prop_known) return;
  const bool device_memory = is_device(a->prop.location);
  const int home = device_of(a->prop.location);
  const auto& reach = model.platform().reach;
  for (std::size_t i = 0; i < call.count; ++i) {
    const CUmemAccessDesc& desc = call.desc[i];
    const bool grants = static_cast<unsigned>(desc.flags) != 0;
    if (is_host(desc.location)) {
      if (!device_memory || !grants) continue;
      out.add(Rule::kAccessHostLocation, at_index(i) + " names " + location(desc.location) +
                                             " for memory on " + location(a->prop.location))
          .objects.push_back(ref(*a));
      return;
    }
    if (!grants || !device_memory) continue;
    const int device = device_of(desc.location);
    const auto d = static_cast<std::size_t>(device);
    if (home == device || device < 0 || d >= reach.size()) continue;
    if (!(reach[d] >> home & 1)) {
      out.add(Rule::kAccessPeer, at_index(i) + ": device " + std::to_string(d) +
                                     " cannot reach memory on " + location(a->prop.location))
          .objects.push_back(ref(*a));
      return;
    }
  }
}

[[gnu::noinline]] void check_access_range(Collector& out, const Model& model,
                                          const calls::MemSetAccess& call, const Facts& facts) {
  const Coverage c = coverage(model, call.ptr, call.size);
  const Reservation* r = model.reservation_at(call.ptr);
  if (!r && !c.any) {
    Violation& v = out.add(Rule::kAccessMapped, hex_text(call.ptr) + " is in no live reservation",
                           certainly_not_reserved(model, call.ptr));
    attach_history(v, model, call.ptr);
    return;
  }
  if (c.cut) {
    out.add(Rule::kAccessWhole,
            range(call.ptr, call.size) + " cuts the mapping " + range(c.cut->base, c.cut->size))
        .objects.push_back(ref(*c.cut));
  } else if (!c.first || !c.last) {
    const Address where = c.first ? call.ptr + (call.size - 1) : call.ptr;
    Violation& v =
        out.add(Rule::kAccessMapped, "nothing is mapped at " + hex_text(where) + ", " +
                                         (c.first ? "the last byte of " : "the first byte of ") +
                                         range(call.ptr, call.size));
    attach_history(v, model, where);
  } else if (c.has_hole) {
    attach_history(out.add(Rule::kAccessHole, "nothing is mapped at " + hex_text(c.hole) + " in " +
                                                  range(call.ptr, call.size)),
                   model, c.hole);
  }
  if (!call.desc) return;
  // Stops at a hole, because a driver accepted mistakes behind a hole that it refuses in front of
  // one.
  Address next = call.ptr;
  for (auto it = model.first_mapping_after(call.ptr);
       it != model.mappings().end() &&
       overlap(it->second.base, it->second.size, call.ptr, call.size) && it->first <= next;
       ++it) {
    next = it->first + it->second.size;
    const bool before = out.empty();
    check_reach(out, model, call, it->second, facts);
    if (before && !out.empty()) break;  // one mapping is enough to show the mistake
    if (reaches_end(it->second.base, it->second.size, call.ptr, call.size)) break;
  }
}

// Whether a place loses access to some memory by this call.
bool takes_away(const Model& model, const calls::MemSetAccess& call, const CUmemAccessDesc& desc) {
  constexpr unsigned kRead = 1, kReadWrite = 3;
  const auto flags = static_cast<unsigned>(desc.flags);
  const int device = device_of(desc.location);
  if (flags == kReadWrite || !is_device(desc.location) || device < 0 || device >= 62) return false;
  const std::uint64_t bit = std::uint64_t{1} << device;
  for (auto it = model.first_mapping_after(call.ptr);
       it != model.mappings().end() &&
       overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    const AccessMask& had = it->second.access;
    if ((flags == 0 && (had.read & bit)) || (flags <= kRead && (had.write & bit))) return true;
  }
  return false;
}

void check_access_order(Collector& out, const Model& model, const calls::MemSetAccess& call,
                        const Facts& facts) {
  for (std::size_t i = 0; call.desc && i < call.count; ++i) {
    if (!takes_away(model, call, call.desc[i])) continue;
    add_work(out, facts.order, Rule::kAccessInFlight, Rule::kAccessOrdered,
             location(call.desc[i].location) + " loses access to " + range(call.ptr, call.size));
    return;
  }
}

}  // namespace

Violations check(const Model& model, const calls::MemSetAccess& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (call.count == 0) {
    out.add(Rule::kAccessCountNonzero, "count is 0");
  } else if (!call.desc) {
    out.add(Rule::kAccessDescNonnull, "desc is NULL");
  } else {
    for (std::size_t i = 0; i < call.count; ++i)
      check_descriptor(out, model.platform(), call.desc[i], i);
  }
  if (call.ptr == 0) {
    out.add(Rule::kAccessPtrNonnull, "ptr is 0");
    return out.take();
  }
  if (call.size == 0) {
    out.add(Rule::kAccessSizeNonzero, "size is 0");
    return out.take();
  }
  if (facts.order.count != 0) [[unlikely]]
    check_access_order(out, model, call, facts);
  const Mapping* m = model.mapping_at(call.ptr);
  const Allocation* a = m ? model.allocation(m->handle) : nullptr;
  const Size granularity = mapping_granularity(model, a);
  bool aligned = true;
  if (granularity != 0 && call.ptr % granularity != 0) {
    out.add(
        Rule::kAccessPtrAligned,
        hex_text(call.ptr) + " is not a multiple of the granularity, " + size_text(granularity));
    aligned = false;
  }
  if (granularity != 0 && call.size % granularity != 0) {
    out.add(Rule::kAccessSizeAligned, "size " + size_text(call.size) +
                                          " is not a multiple of the granularity, " +
                                          size_text(granularity));
    aligned = false;
  }
  // An unaligned range always cuts a mapping, so that second mistake is not reported.
  if (!aligned) return out.take();
  // Nearly every range is one whole mapping, which needs no look at what lies around it.
  if (m && m->base == call.ptr && m->size == call.size) {
    if (call.desc) check_reach(out, model, call, *m, facts);
  } else {
    check_access_range(out, model, call, facts);
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemGetAccess& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.flags) out.add(Rule::kGetAccessFlagsNonnull, "flags is NULL");
  if (!call.location) {
    out.add(Rule::kGetAccessLocationNonnull, "location is NULL");
  } else if (!is_host(*call.location) &&
             (!is_device(*call.location) || !exists(model.platform(), device_of(*call.location)) ||
              (is_domain(*call.location) && !has_domains(model.platform())))) {
    out.add(Rule::kGetAccessLocationValid,
            "location is " + location(*call.location) + ", which does not exist");
  }
  if (call.ptr == 0) {
    out.add(Rule::kGetAccessPtrNonnull, "ptr is 0");
  } else if (!model.mapping_at(call.ptr) && !model.external().buffer_at(call.ptr)) {
    const bool reserved = model.reservation_at(call.ptr) != nullptr;
    const Mapping* before = model.mapping_at(call.ptr - 1);
    Violation& v =
        before && !reserved
            ? out.add(Rule::kGetAccessPastEnd, hex_text(call.ptr) + " is the end of the mapping " +
                                                   range(before->base, before->size))
            // Memory of cuMemAlloc may lie where a reservation was, and a program may ask about it.
            : out.add(Rule::kGetAccessMapped, "nothing is mapped at " + hex_text(call.ptr),
                      reserved || model.platform().complete);
    attach_history(v, model, before && !reserved ? call.ptr - 1 : call.ptr);
  }
  return out.take();
}

}  // namespace cuvmm
