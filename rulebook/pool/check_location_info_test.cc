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

/// Memory of a pool at kManaged.
void have_pool_memory(World& w, CUmemAllocationType type) {
  CUmemPoolProps props{};
  props.allocType = type;
  props.location = make_location(kLocationDevice, 0);
  CUmemoryPool pool = nullptr;
  CUdeviceptr out = kManaged;
  w.accept(calls::MemPoolCreate{.pool = &pool, .poolProps = &props});
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &out, .bytesize = 4 * kGranule, .pool = pool});
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kWhereOut,
       [](World& w, bool broken) {
         return where(w, kManaged, kGranule, 0, broken ? nullptr : places);
       }},
      {Rule::kWhereSummary,
       [](World& w, bool broken) { return where(w, kManaged, broken ? 0 : 1); }},
      {Rule::kWhereSummary,
       [](World& w, bool broken) { return where(w, kManaged, 4 * kGranule + (broken ? 1 : 0)); }},
      {Rule::kWhereSampling,
       [](World& w, bool broken) {
         return where(w, kManaged, kGranule, kGranule + (broken ? 1 : 0));
       }},
      {Rule::kWhereManaged,
       [](World& w, bool broken) {
         w.mapped(kBase, 4);
         return where(w, broken ? kBase : kManaged);
       }},
      {Rule::kWhereManaged,
       [](World& w, bool broken) {
         have_pool_memory(w, broken ? CU_MEM_ALLOCATION_TYPE_PINNED : kManagedMemory);
         return where(w);
       }},
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
