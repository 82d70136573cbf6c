// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_managed_test {
namespace {

constexpr Address kElsewhere = 0x123000;  ///< memory of an unknown kind: managed, or of the system
constexpr std::uint64_t kPoolMemory = 0x500000000000;

CUmemLocation at(int type, int id = 0) {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(type);
  location.id = id;
  return location;
}

// Two ranges that go to one place each, without a mistake.
struct Batch {
  CUdeviceptr addresses[2] = {kElsewhere, kElsewhere + 0x10000};
  std::size_t sizes[2] = {4096, 4096};
  CUmemLocation locations[2] = {at(1), at(2)};
  std::size_t first[2] = {0, 1};
  calls::MemPrefetchBatchAsync call{.dptrs = addresses,
                                    .sizes = sizes,
                                    .count = 2,
                                    .prefetchLocs = locations,
                                    .prefetchLocIdxs = first,
                                    .numPrefetchLocs = 2,
                                    .hStream = CU_STREAM_PER_THREAD};
};

std::vector<RuleCase> cases() {
  return {
      {Rule::kManagedOnly,  // address space without a mapping
       [](World& w, bool broken) {
         w.reserve(kBase, 1);
         return check(w.model, calls::MemPrefetchAsync{.devPtr = broken ? kBase : kElsewhere,
                                                       .count = 4096,
                                                       .dstDevice = CU_DEVICE_CPU});
       }},
      // Registered memory stays memory of the system; memory of cuMemAllocHost is not.
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         auto* const host = reinterpret_cast<void*>(kElsewhere);
         if (broken) {
           void* made = host;
           w.accept(calls::MemAllocHost{.pp = &made, .bytesize = 4096});
         } else {
           w.accept(calls::MemHostRegister{.p = host, .bytesize = 4096});
         }
         return check(w.model, calls::MemPrefetchAsync_v2{
                                   .devPtr = kElsewhere, .count = 64, .location = at(1)});
       }},
      {Rule::kManagedLocation,  // a locality domain of device 0
       [](World& w, bool broken) {
         return check(w.model,
                      calls::MemPrefetchAsync_v2{
                          .devPtr = kElsewhere, .count = 4096, .location = at(broken ? 6 : 4)});
       }},
      {Rule::kManagedLocation,  // SET_ACCESSED_BY takes no NUMA node
       [](World& w, bool broken) {
         return check(w.model, calls::MemAdvise_v2{.devPtr = kElsewhere,
                                                   .count = 4096,
                                                   .advice = CU_MEM_ADVISE_SET_ACCESSED_BY,
                                                   .location = at(broken ? 3 : 2)});
       }},
      {Rule::kAttachFlags,
       [](World& w, bool broken) {
         return check(w.model,
                      calls::StreamAttachMemAsync{.dptr = kElsewhere, .flags = broken ? 3u : 2u});
       }},
      {Rule::kAttachStream,
       [](World& w, bool broken) {
         return check(w.model, calls::StreamAttachMemAsync{
                                   .hStream = broken ? nullptr : CU_STREAM_PER_THREAD,
                                   .dptr = kElsewhere,
                                   .flags = CU_MEM_ATTACH_SINGLE});
       }},
  };
}
const ListedCases kListed(cases);

// Three kinds of advice ignore the location, and unknown kinds of advice are not reported.
TEST(CheckManaged, LocationsThatNobodyLooksAtAreNotLookedAt) {
  World w;
  for (const int advice : {1, 2, 4, 99}) {
    const calls::MemAdvise_v2 call{.devPtr = kElsewhere,
                                   .count = 4096,
                                   .advice = static_cast<CUmem_advise>(advice),
                                   .location = at(77, -5)};
    EXPECT_TRUE(check(w.model, call).empty()) << advice;
  }
}

// The model does not know the kind of an imported pool.
TEST(CheckManaged, AStrangersPoolMayBeManaged) {
  World w;
  auto pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x9000});
  CUdeviceptr memory = kPoolMemory;
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &memory, .bytesize = 4096, .pool = pool});
  const calls::MemPrefetchAsync_v2 call{.devPtr = kPoolMemory, .count = 4096, .location = at(1)};
  EXPECT_TRUE(check(w.model, call).empty());
}

}  // namespace
}  // namespace cuvmm::testing::check_managed_test
