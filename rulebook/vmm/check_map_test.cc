// SPDX-License-Identifier: Apache-2.0
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_map_test {
namespace {

constexpr std::uint64_t kG = kGranule;

Violations map(World& w, calls::MemMap call) {
  if (!call.handle) call.handle = 0x100;
  return check(w.model, call);
}
Violations unmap(World& w, Address ptr, std::uint64_t size) {
  return check(w.model, calls::MemUnmap{.ptr = ptr, .size = size});
}

// A reservation of `granules`, and an allocation 0x100 of the same size.
void ready(World& w, std::uint64_t granules) {
  w.reserve(kBase, granules);
  w.create(0x100, granules);
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kMapPtrNonnull,
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = broken ? 0 : kBase, .size = kG});
       }},
      {Rule::kMapPtrReserved,
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = broken ? kBase + kG : kBase, .size = kG});
       }},
      {Rule::kMapPtrReserved,  // after the reservation was freed
       [](World& w, bool broken) {
         ready(w, 1);
         if (broken) w.free(kBase, 1);
         return map(w, {.ptr = kBase, .size = kG});
       }},
      {Rule::kMapInsideReservation,
       [](World& w, bool broken) {
         w.reserve(kBase, broken ? 2 : 3);
         w.create(0x100, 2);
         return map(w, {.ptr = kBase + kG, .size = 2 * kG});
       }},
      {Rule::kMapInsideReservation,  // into the neighbour
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         w.reserve(kBase + 2 * kG, 2);
         w.create(0x100, 2);
         return map(w, {.ptr = kBase + (broken ? kG : 0), .size = 2 * kG});
       }},
      {Rule::kMapVacant,
       [](World& w, bool broken) {
         w.reserve(kBase, 3);
         w.create(0x200, 1);
         w.map(kBase + kG, 1, 0x200);
         w.create(0x100, broken ? 2 : 1);
         return map(w, {.ptr = kBase, .size = (broken ? 2 : 1) * kG});
       }},
      {Rule::kMapPtrAligned,
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         w.create(0x100, 1);
         return map(w, {.ptr = kBase + (broken ? 4096 : 0), .size = kG});
       }},
      {Rule::kMapSizeNonzero,
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = kBase, .size = broken ? 0 : kG});
       }},
      {Rule::kMapSizeGranularity,
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = kBase, .size = broken ? 4096 : kG});
       }},
      {Rule::kMapOffsetZero,
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = kBase, .size = kG, .offset = broken ? kG : 0});
       }},
      {Rule::kMapBounds,
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         w.create(0x100, 1);
         return map(w, {.ptr = kBase, .size = (broken ? 2 : 1) * kG});
       }},
      {Rule::kMapBounds,  // a sum that wraps
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = kBase, .size = kG, .offset = broken ? ~std::size_t{0} - kG + 1 : 0});
       }},
      {Rule::kMapWholeAllocation,
       [](World& w, bool broken) {
         ready(w, 2);
         return map(w, {.ptr = kBase, .size = (broken ? 1 : 2) * kG});
       }},
      {Rule::kMapHandleNonzero,
       [](World& w, bool broken) {
         ready(w, 1);
         return check(w.model,
                      calls::MemMap{.ptr = kBase, .size = kG, .handle = broken ? 0u : 0x100u});
       }},
      {Rule::kMapHandleValid,
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = kBase, .size = kG, .handle = broken ? 0x1234u : 0x100u});
       }},
      {Rule::kMapHandleAlive,
       [](World& w, bool broken) {
         ready(w, 1);
         if (broken) w.release(0x100);
         return map(w, {.ptr = kBase, .size = kG});
       }},
      {Rule::kMapHandleReferenced,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         w.reserve(kBase + 4 * kG, 1);
         if (broken) w.release(0x100);
         return map(w, {.ptr = kBase + 4 * kG, .size = kG});
       }},
      {Rule::kMapTilePool,
       [](World& w, bool broken) {
         w.reserve(kBase, 1);
         CUmemAllocationProp prop = device_prop();
         prop.allocFlags.usage = broken ? 1 : 0;
         w.create(0x100, 1, prop);
         return map(w, {.ptr = kBase, .size = kG});
       }},
      {Rule::kMapFlagsZero,
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = kBase, .size = kG, .flags = broken ? 1u : 0u});
       }},
      {Rule::kMappingLeak,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         const calls::MemAddressFree call{.ptr = kBase, .size = kG};
         if (broken) w.refuse(call);
         return check_exit(w.model, [](const Export&) { return false; });
       }},
      {Rule::kUnmapPtrReserved,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return unmap(w, broken ? kBase + kG : kBase, kG);
       }},
      {Rule::kUnmapSizeNonzero,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return unmap(w, kBase, broken ? 0 : kG);
       }},
      {Rule::kUnmapInsideReservation,  // one call over two adjacent reservations is fine
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         w.mapped(kBase + kG, 1, 0x200);
         return unmap(w, kBase, (broken ? 3 : 2) * kG);
       }},
      {Rule::kUnmapWhole,
       [](World& w, bool broken) {
         w.mapped(kBase, 2);
         return unmap(w, kBase, (broken ? 1 : 2) * kG);
       }},
      {Rule::kUnmapWhole,  // one whole mapping, and a half
       [](World& w, bool broken) {
         w.reserve(kBase, 3);
         w.create(0x100, 1);
         w.create(0x200, 2);
         w.map(kBase, 1, 0x100);
         w.map(kBase + kG, 2, 0x200);
         return unmap(w, kBase, (broken ? 2 : 3) * kG);
       }},
      {Rule::kUnmapMapped,  // nothing is mapped in the range
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         if (broken) w.unmap(kBase, 1);
         return unmap(w, kBase, kG);
       }},
      {Rule::kUnmapMapped,  // a hole in the middle
       [](World& w, bool broken) {
         w.reserve(kBase, 3);
         for (unsigned i = 0; i < 3; ++i) {
           w.create(0x100 + i, 1);
           if (i != 1 || !broken) w.map(kBase + i * kG, 1, 0x100 + i);
         }
         return unmap(w, kBase, 3 * kG);
       }},
  };
}
const ListedCases kListed(cases);

}  // namespace
}  // namespace cuvmm::testing::check_map_test
