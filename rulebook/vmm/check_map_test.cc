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
      {Rule::kMapPtrReserved,  // after the reservation was freed
       [](World& w, bool broken) {
         ready(w, 1);
         if (broken) w.free(kBase, 1);
         return map(w, {.ptr = kBase, .size = kG});
       }},
      {Rule::kMapInsideReservation,  // into the neighbour
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         w.reserve(kBase + 2 * kG, 2);
         w.create(0x100, 2);
         return map(w, {.ptr = kBase + (broken ? kG : 0), .size = 2 * kG});
       }},
      {Rule::kMapBounds,  // a sum that wraps
       [](World& w, bool broken) {
         ready(w, 1);
         return map(w, {.ptr = kBase, .size = kG, .offset = broken ? ~std::size_t{0} - kG + 1 : 0});
       }},
      {Rule::kMappingLeak,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         const calls::MemAddressFree call{.ptr = kBase, .size = kG};
         if (broken) w.refuse(call);
         return check_exit(w.model, [](const Export&) { return false; });
       }},
      {Rule::kUnmapInsideReservation,  // one call over two adjacent reservations is fine
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         w.mapped(kBase + kG, 1, 0x200);
         return unmap(w, kBase, (broken ? 3 : 2) * kG);
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
