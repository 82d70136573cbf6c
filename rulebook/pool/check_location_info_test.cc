// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/newer/pools.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_location_info_test {
namespace {

constexpr Address kManaged = 0x7300'0000'0000;
CUmemLocation places[4];

Violations where(World& w, Address at = kManaged, Size summary = kGranule, Size sampling = 0,
                 CUmemLocation* out = places) {
  return check(w.model, calls::MemGetLocationInfo{.ptr = at,
                                                  .size = 4 * kGranule,
                                                  .summaryGranularity = summary,
                                                  .samplingGranularity = sampling,
                                                  .location_out = out});
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kWhereSupported,
       [](World& w, bool broken) {
         w.model.platform().managed_known = true;
         w.model.platform().managed = !broken;
         return where(w);
       }},
  };
}
const ListedCases kListed(cases);

}  // namespace
}  // namespace cuvmm::testing::check_location_info_test
