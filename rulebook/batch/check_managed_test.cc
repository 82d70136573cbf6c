// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_managed_test {
namespace {

constexpr std::uint64_t kG = kGranule;
constexpr Address kElsewhere = 0x123000;  ///< memory of an unknown kind: managed, or of the system
constexpr std::uint64_t kPoolMemory = 0x500000000000;

CUmemLocation at(int type, int id = 0) {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(type);
  location.id = id;
  return location;
}

void pool_memory(World& w, int type) {
  CUmemPoolProps props{};
  props.allocType = static_cast<CUmemAllocationType>(type);
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  auto pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x9000});
  CUdeviceptr memory = kPoolMemory;
  w.accept(calls::MemPoolCreate{.pool = &pool, .poolProps = &props});
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &memory, .bytesize = 4096, .pool = pool});
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
template <class Change>
Violations batch(World& w, Change change) {
  Batch one;
  change(one);
  return check(w.model, one.call);
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check(w.model,
                      calls::MemPrefetchAsync_v2{
                          .devPtr = broken ? kBase : kElsewhere, .count = 4096, .location = at(1)});
       }},
      {Rule::kManagedOnly,  // address space without a mapping
       [](World& w, bool broken) {
         w.reserve(kBase, 1);
         return check(w.model, calls::MemPrefetchAsync{.devPtr = broken ? kBase : kElsewhere,
                                                       .count = 4096,
                                                       .dstDevice = CU_DEVICE_CPU});
       }},
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         pool_memory(w, broken ? 1 : 2);
         return check(w.model, calls::MemAdvise_v2{.devPtr = kPoolMemory,
                                                   .count = 4096,
                                                   .advice = CU_MEM_ADVISE_SET_READ_MOSTLY});
       }},
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check(w.model, calls::MemAdvise{.devPtr = broken ? kBase : kElsewhere,
                                                .count = 4096,
                                                .advice = CU_MEM_ADVISE_SET_READ_MOSTLY});
       }},
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return batch(w, [&](Batch& b) { b.addresses[1] = broken ? kBase + kG / 2 : kElsewhere; });
       }},
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         Batch one;
         if (broken) one.addresses[0] = kBase;
         return check(w.model, calls::MemDiscardBatchAsync{.dptrs = one.addresses,
                                                           .sizes = one.sizes,
                                                           .count = 2,
                                                           .hStream = CU_STREAM_PER_THREAD});
       }},
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check(w.model, calls::StreamAttachMemAsync{.dptr = broken ? kBase : kElsewhere,
                                                           .flags = CU_MEM_ATTACH_GLOBAL});
       }},
      {Rule::kManagedOnly,
       [](World& w, bool broken) {
         CUdeviceptr memory = kElsewhere;
         if (broken) {
           w.accept(calls::MemAlloc{.dptr = &memory, .bytesize = 4096});
         } else {
           w.accept(calls::MemAllocManaged{.dptr = &memory, .bytesize = 4096, .flags = 1});
         }
         return check(w.model, calls::MemAdvise_v2{.devPtr = kElsewhere + 64,
                                                   .count = 64,
                                                   .advice = CU_MEM_ADVISE_SET_READ_MOSTLY});
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
      {Rule::kManagedSize,
       [](World& w, bool broken) {
         return batch(w, [&](Batch& b) { b.sizes[0] = broken ? 0 : 1; });
       }},
      {Rule::kManagedFlags,
       [](World& w, bool broken) {
         return check(w.model, calls::MemPrefetchAsync_v2{.devPtr = kElsewhere,
                                                          .count = 4096,
                                                          .location = at(1),
                                                          .flags = broken ? 1u : 0u});
       }},
      {Rule::kManagedLocation,  // a locality domain of device 0
       [](World& w, bool broken) {
         return check(w.model,
                      calls::MemPrefetchAsync_v2{
                          .devPtr = kElsewhere, .count = 4096, .location = at(broken ? 6 : 4)});
       }},
      {Rule::kManagedLocation,
       [](World& w, bool broken) {
         return check(w.model, calls::MemAdvise_v2{.devPtr = kElsewhere,
                                                   .count = 4096,
                                                   .advice = CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                   .location = at(broken ? 6 : 3)});
       }},
      {Rule::kManagedLocation,  // SET_ACCESSED_BY takes no NUMA node
       [](World& w, bool broken) {
         return check(w.model, calls::MemAdvise_v2{.devPtr = kElsewhere,
                                                   .count = 4096,
                                                   .advice = CU_MEM_ADVISE_SET_ACCESSED_BY,
                                                   .location = at(broken ? 3 : 2)});
       }},
      {Rule::kManagedLocation,
       [](World& w, bool broken) {
         return batch(w, [&](Batch& b) { b.locations[1] = at(broken ? 0 : 3); });
       }},
      {Rule::kManagedDevice,
       [](World& w, bool broken) {
         return check(w.model,
                      calls::MemPrefetchAsync{
                          .devPtr = kElsewhere, .count = 4096, .dstDevice = broken ? 2 : 1});
       }},
      {Rule::kCopyIndices,
       [](World& w, bool broken) {
         return batch(w, [&](Batch& b) { b.first[1] = broken ? 0 : 1; });
       }},
      {Rule::kCopyArrays,
       [](World& w, bool broken) {
         return batch(w, [&](Batch& b) {
           if (broken) b.call.dptrs = nullptr;
         });
       }},
      {Rule::kCopyBatchFlags,
       [](World& w, bool broken) {
         return batch(w, [&](Batch& b) { b.call.flags = broken ? 1 : 0; });
       }},
      {Rule::kCopyBatchStream,
       [](World& w, bool broken) {
         Batch one;
         return check(w.model, calls::MemDiscardAndPrefetchBatchAsync{
                                   .dptrs = one.addresses,
                                   .sizes = one.sizes,
                                   .count = 2,
                                   .prefetchLocs = one.locations,
                                   .prefetchLocIdxs = one.first,
                                   .numPrefetchLocs = 2,
                                   .hStream = broken ? nullptr : CU_STREAM_PER_THREAD});
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
