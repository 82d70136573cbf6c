// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/location.h"
#include "api/newer/pools.h"
#include "rulebook/testing/world.h"
#include "rulebook/vmm/left_dma_buf.h"

namespace cuvmm::testing::check_range_handle_test {
namespace {

constexpr std::uint64_t kG = kGranule;
int out;

Violations range(World& w, Address ptr, std::uint64_t size, unsigned type = 1,
                 unsigned long long flags = 0, void* to = &out) {
  return check(w.model, calls::MemGetHandleForAddressRange{
                            .handle = to,
                            .dptr = ptr,
                            .size = size,
                            .handleType = static_cast<CUmemRangeHandleType>(type),
                            .flags = flags});
}

Violations mapped(World& w, const CUmemAllocationProp& prop, unsigned long long flags = 0) {
  w.reserve(kBase, 1);
  w.create(0x100, 1, prop);
  w.map(kBase, 1, 0x100);
  return range(w, kBase, kG, 1, flags);
}
/// Memory of a pool at kBase, in a domain of a device with two domains.
void have_localized_pool(World& w, bool rdma) {
  Platform& platform = w.model.platform();
  platform.locality_domains = {2, 2};
  platform.localized_rdma_known = true;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = domain_location(0, 1);
  reinterpret_cast<unsigned char*>(&props)[34] = rdma ? 1 : 0;
  CUmemoryPool pool = nullptr;
  CUdeviceptr out = kBase;
  w.accept(calls::MemPoolCreate{.pool = &pool, .poolProps = &props});
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &out, .bytesize = kG, .pool = pool});
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kRangeHost,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = device_prop();
         if (broken) prop.location.type = static_cast<CUmemLocationType>(2);
         return mapped(w, prop);
       }},
      {Rule::kRangeCompressed,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = device_prop();
         prop.allocFlags.compressionType = 1;
         return mapped(w, prop, broken ? 0 : 1);  // another rule is about the PCIe mapping
       }},
      {Rule::kRangeFdLeak,
       [](World& w, bool broken) {
         CUdeviceptr memory = kBase, other = kBase + kG;
         w.accept(calls::MemAlloc{.dptr = &memory, .bytesize = kG});
         w.accept(calls::MemAlloc{.dptr = &other, .bytesize = kG});
         const DmaBuf open{7, memory, kG, {.call = 2}, memory_behind(w.model, memory)};
         w.accept(calls::MemFree{.dptr = broken ? memory : other});
         return check_left(w.model, open);
       }},
      // Two pieces of memory lay there in turn; the descriptor belongs to the first.
      {Rule::kRangeFdLeak,
       [](World& w, bool broken) {
         CUdeviceptr memory = kBase;
         w.accept(calls::MemAlloc{.dptr = &memory, .bytesize = kG});
         DmaBuf open{7, memory, kG, {.call = 2}, memory_behind(w.model, memory)};
         w.accept(calls::MemFree{.dptr = memory});
         w.accept(calls::MemAlloc{.dptr = &memory, .bytesize = kG});
         if (!broken) open.memory = memory_behind(w.model, memory);
         return check_left(w.model, open);
       }},
  };
}
const ListedCases kListed(cases);

// The documentation speaks of pools that asked for RDMA.
TEST(RangeHandle, OfAPoolThatDidNotAskForRdmaItIsUncertain) {
  World w;
  have_localized_pool(w, false);
  const Violations v = range(w, kBase, kG);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0].rule, Rule::kRangeLocalized);
  EXPECT_FALSE(v[0].certain);
}

}  // namespace
}  // namespace cuvmm::testing::check_range_handle_test
