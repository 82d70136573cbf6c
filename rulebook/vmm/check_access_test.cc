// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_access_test {
namespace {

constexpr std::uint64_t kG = kGranule;

Violations access(World& w, Address ptr, std::uint64_t size, CUmemAccessDesc desc = access_desc(),
                  std::size_t count = 1) {
  return check(w.model,
               calls::MemSetAccess{.ptr = ptr, .size = size, .desc = &desc, .count = count});
}
Violations get(World& w, Address ptr, int device = 0) {
  unsigned long long flags = 0;
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return check(w.model, calls::MemGetAccess{.flags = &flags, .location = &location, .ptr = ptr});
}

// Maps granules 0 and 2 of three, and granule 1 as well unless `hole`.
void three(World& w, bool hole) {
  w.reserve(kBase, 3);
  for (unsigned i = 0; i < 3; ++i) {
    w.create(0x100 + i, 1);
    if (i != 1 || !hole) w.map(kBase + i * kG, 1, 0x100 + i);
  }
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kAccessSizeNonzero,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return access(w, kBase, broken ? 0 : kG);
       }},
      {Rule::kAccessCountNonzero,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return access(w, kBase, kG, access_desc(), broken ? 0 : 1);
       }},
      {Rule::kAccessDescNonnull,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         const auto desc = access_desc();
         return check(w.model,
                      calls::MemSetAccess{
                          .ptr = kBase, .size = kG, .desc = broken ? nullptr : &desc, .count = 1});
       }},
      {Rule::kAccessFlags,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return access(w, kBase, kG, access_desc(broken ? 2 : 1));
       }},
      {Rule::kAccessLocationType,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return access(w, kBase, kG, access_desc(3, 0, broken ? 99 : 1));
       }},
      {Rule::kAccessLocationDevice,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return access(w, kBase, kG, access_desc(3, broken ? 2 : 0));
       }},
      {Rule::kAccessHostLocation,
       [](World& w, bool broken) {
         w.reserve(kBase, 1);
         CUmemAllocationProp prop = device_prop();
         if (!broken) prop.location.type = static_cast<CUmemLocationType>(3);
         w.create(0x100, 1, prop);
         w.map(kBase, 1, 0x100);
         return access(w, kBase, kG, access_desc(3, 0, 3));
       }},
      {Rule::kAccessPeer,  // device 1 cannot reach device 0, device 0 can reach device 1
       [](World& w, bool broken) {
         w.reserve(kBase, 1);
         w.create(0x100, 1, device_prop(broken ? 0 : 1));
         w.map(kBase, 1, 0x100);
         return access(w, kBase, kG, access_desc(3, broken ? 1 : 0));
       }},
      {Rule::kAccessPtrNonnull,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return access(w, broken ? 0 : kBase, kG);
       }},
      {Rule::kAccessPtrAligned,
       [](World& w, bool broken) {
         w.mapped(kBase, 2);
         return access(w, kBase + (broken ? 4096 : 0), 2 * kG);
       }},
      {Rule::kAccessSizeAligned,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return access(w, kBase, broken ? 4096 : kG);
       }},
      {Rule::kAccessMapped,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         if (broken) w.unmap(kBase, 1);
         return access(w, kBase, kG);
       }},
      {Rule::kAccessMapped,  // the end of the range is not mapped
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         w.create(0x100, 1);
         w.map(kBase, 1, 0x100);
         return access(w, kBase, (broken ? 2 : 1) * kG);
       }},
      {Rule::kAccessHole,
       [](World& w, bool broken) {
         three(w, broken);
         return access(w, kBase, 3 * kG);
       }},
      {Rule::kAccessWhole,
       [](World& w, bool broken) {
         w.mapped(kBase, 2);
         return access(w, kBase, (broken ? 1 : 2) * kG);
       }},
      {Rule::kGetAccessFlagsNonnull,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         unsigned long long flags = 0;
         const CUmemLocation location = access_desc().location;
         return check(w.model,
                      calls::MemGetAccess{
                          .flags = broken ? nullptr : &flags, .location = &location, .ptr = kBase});
       }},
      {Rule::kGetAccessLocationNonnull,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         unsigned long long flags = 0;
         const CUmemLocation location = access_desc().location;
         return check(w.model,
                      calls::MemGetAccess{
                          .flags = &flags, .location = broken ? nullptr : &location, .ptr = kBase});
       }},
      {Rule::kGetAccessLocationValid,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return get(w, kBase, broken ? 2 : 1);
       }},
      {Rule::kGetAccessPtrNonnull,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return get(w, broken ? 0 : kBase);
       }},
      {Rule::kGetAccessMapped,
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         w.create(0x100, 1);
         w.map(kBase, 1, 0x100);
         return get(w, kBase + kG - (broken ? 0 : 1));
       }},
      {Rule::kGetAccessPastEnd,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return get(w, kBase + kG - (broken ? 0 : 1));
       }},
  };
}
const ListedCases kListed(cases);

TEST(Access, WhereAReservationWasSomethingUnseenMayLie) {
  World w;
  w.model.platform().complete = false;
  w.reserve(kBase, 1);
  w.free(kBase, 1);
  const Violations found = get(w, kBase);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kGetAccessMapped);
  EXPECT_FALSE(found[0].certain) << "cuMemAlloc's";
}

}  // namespace
}  // namespace cuvmm::testing::check_access_test
