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

std::vector<RuleCase> cases() {
  return {
      {Rule::kAccessPeer,  // device 1 cannot reach device 0, device 0 can reach device 1
       [](World& w, bool broken) {
         w.reserve(kBase, 1);
         w.create(0x100, 1, device_prop(broken ? 0 : 1));
         w.map(kBase, 1, 0x100);
         return access(w, kBase, kG, access_desc(3, broken ? 1 : 0));
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
