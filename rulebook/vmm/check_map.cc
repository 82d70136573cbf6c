// SPDX-License-Identifier: Apache-2.0
// cuMemMap and cuMemUnmap.
#include <optional>

#include "rulebook/order/check_work.h"
#include "rulebook/sharing/check_multicast.h"

namespace cuvmm {
using namespace detail;

namespace {

// Checks where a range lies in the reservation that holds its first byte.
void check_map_place(Collector& out, const Model& model, const calls::MemMap& call) {
  if (call.ptr == 0) {
    out.add(Rule::kMapPtrNonnull, "ptr is 0");
    return;
  }
  const Reservation* r = model.reservation_at(call.ptr);
  if (!r) {
    Violation& v = out.add(Rule::kMapPtrReserved, hex_text(call.ptr) + " is in no live reservation",
                           certainly_not_reserved(model, call.ptr));
    attach_history(v, model, call.ptr);
  } else if (call.size > r->size - (call.ptr - r->base)) {
    Violation& v = out.add(Rule::kMapInsideReservation,
                           range(call.ptr, call.size) + " runs past the end of the reservation " +
                               range(r->base, r->size));
    v.objects.push_back(ref(*r));
    // The neighbour behind the reservation, because the tail of the range damages it.
    if (const Reservation* next = model.reservation_at(r->base + r->size))
      v.objects.push_back(ref(*next));
  }
  const auto taken = model.first_mapping_after(call.ptr);
  if (taken != model.mappings().end() &&
      overlap(taken->second.base, taken->second.size, call.ptr, call.size)) {
    out.add(Rule::kMapVacant, range(call.ptr, call.size) + " overlaps the live mapping " +
                                  range(taken->second.base, taken->second.size))
        .objects.push_back(ref(taken->second));
  }
}

[[gnu::hot]] void check_map_size(Collector& out, const Model& model, const calls::MemMap& call,
                                 const Allocation* a, const Facts& facts) {
  const MulticastObject* multicast = model.multicast(call.handle);
  const Size granularity = mapping_granularity(model, a);
  if (granularity != 0 && call.ptr % granularity != 0) {
    out.add(Rule::kMapPtrAligned, hex_text(call.ptr) + " is not a multiple of the granularity, " +
                                      size_text(granularity));
  }
  if (call.offset != 0 && !multicast) {
    Violation& v = out.add(Rule::kMapOffsetZero, "offset is " + size_text(call.offset) + ", not 0");
    if (a) v.objects.push_back(ref(*a));
  }
  if (call.size == 0) {
    out.add(Rule::kMapSizeNonzero, "size is 0");
    return;
  }
  if (granularity != 0 && call.size % granularity != 0) {
    out.add(Rule::kMapSizeGranularity, "size " + size_text(call.size) +
                                           " is not a multiple of the granularity, " +
                                           size_text(granularity));
  }
  if (!a) return;
  constexpr unsigned kTilePool = 1;
  if (a->prop_known && (a->prop.allocFlags.usage & kTilePool)) {
    out.add(Rule::kMapTilePool, "the memory was created as a tile pool").objects.push_back(ref(*a));
  }
  if (multicast) {
    check_multicast_map(out, model, *multicast, call, facts);
    return;
  }
  if (a->size == 0) {  // an import: the exporter knows its size, this process does not yet
    out.add(Rule::kMapWholeAllocation,
            "size " + size_text(call.size) + " may not be the size of the imported allocation",
            false)
        .objects.push_back(ref(*a));
    return;
  }
  // Compares with total - offset, because a sum could wrap.
  if (call.offset > a->size || call.size > a->size - call.offset) {
    out.add(Rule::kMapBounds, size_text(call.size) + " at offset " + size_text(call.offset) +
                                  " go past the end of the allocation, which has " +
                                  size_text(a->size))
        .objects.push_back(ref(*a));
  } else if (call.size != a->size && call.offset == 0) {
    out.add(Rule::kMapWholeAllocation,
            "size " + size_text(call.size) + " is only a part of the allocation, which has " +
                size_text(a->size),
            false)
        .objects.push_back(ref(*a));
  }
}

// Checks memory that this call ends, because its last mappings lie in the range and no reference is
// left: it must not be bound.
void check_ends(Collector& out, const Model& model, const calls::MemUnmap& call) {
  if (model.multicasts().empty()) [[likely]]
    return;
  std::map<Handle, std::uint32_t> unmapped;
  for (auto it = model.first_mapping_after(call.ptr);
       it != model.mappings().end() &&
       overlap(it->second.base, it->second.size, call.ptr, call.size);
       ++it) {
    ++unmapped[it->second.handle];
  }
  for (const auto& [handle, count] : unmapped) {
    const Allocation* a = model.allocation(handle);
    if (a && a->references == 0 && a->mappings == count) check_unbound(out, model, *a);
  }
}

// The first byte of the range that no live reservation and no mapping holds.
[[gnu::cold]] std::optional<Address> first_unreserved(const Model& model, Address base, Size size) {
  Address at = base;
  while (true) {
    Size rest = 0;
    if (const Reservation* r = model.reservation_at(at)) {
      rest = r->size - (at - r->base);
    } else if (const Mapping* m = model.mapping_at(at)) {
      rest = m->size - (at - m->base);
    } else {
      return at;
    }
    if (rest >= size - (at - base)) return std::nullopt;
    at += rest;
  }
}

}  // namespace

Violations check(const Model& model, const calls::MemMap& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Allocation* a = check_handle(out, model, call.handle,
                                     {Rule::kMapHandleNonzero, Rule::kMapHandleValid,
                                      Rule::kMapHandleAlive, Rule::kMapHandleReferenced},
                                     facts);
  if (call.flags != 0) out.add(Rule::kMapFlagsZero, "flags is " + hex_text(call.flags) + ", not 0");
  check_map_size(out, model, call, a, facts);
  if (call.size != 0) check_map_place(out, model, call);
  return out.take();
}

Violations check(const Model& model, const calls::MemUnmap& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (call.size == 0) {
    out.add(Rule::kUnmapSizeNonzero, "size is 0");
    return out.take();
  }
  if (facts.order.count != 0) [[unlikely]] {
    add_work(out, facts.order, Rule::kUnmapInFlight, Rule::kUnmapOrdered,
             range(call.ptr, call.size) + " is unmapped");
  }
  const Coverage c = coverage(model, call.ptr, call.size);
  if (c.cut) {
    out.add(Rule::kUnmapWhole,
            range(call.ptr, call.size) + " cuts the mapping " + range(c.cut->base, c.cut->size))
        .objects.push_back(ref(*c.cut));
  } else {
    check_ends(out, model, call);
  }
  const Reservation* r = model.reservation_at(call.ptr);
  if (!r) {
    // A program may unmap the whole tail of a mapping that ran past its reservation.
    if (c.first) return out.take();
    Violation& v =
        out.add(Rule::kUnmapPtrReserved, hex_text(call.ptr) + " is in no live reservation",
                certainly_not_reserved(model, call.ptr));
    attach_history(v, model, call.ptr);
    return out.take();
  }
  const bool inside = call.size <= r->size - (call.ptr - r->base);
  if (const auto outside = inside ? std::nullopt : first_unreserved(model, call.ptr, call.size)) {
    Violation& v =
        out.add(Rule::kUnmapInsideReservation,
                range(call.ptr, call.size) + " runs past the end of the reservation " +
                    range(r->base, r->size) + ": " + hex_text(*outside) + " is in no reservation");
    v.objects.push_back(ref(*r));
  } else if (c.has_hole && !c.cut) {
    Violation& v =
        out.add(Rule::kUnmapMapped, c.any ? "nothing is mapped at " + hex_text(c.hole) + " in " +
                                                range(call.ptr, call.size)
                                          : "nothing is mapped in " + range(call.ptr, call.size));
    attach_history(v, model, c.hole);
  }
  return out.take();
}

}  // namespace cuvmm
