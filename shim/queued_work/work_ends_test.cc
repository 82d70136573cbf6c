// SPDX-License-Identifier: Apache-2.0
// Addresses that kernels get without using the memory there: the end of their memory, the beginning
// of an arena, one element before the first.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorkEnds : public WorkWorld {
 protected:
  static constexpr CUdeviceptr kNext = kBase + kSize, kFar = kBase + 16 * kSize;
  WorkEnds() { answers.non_blocking = {s_, t_}; }
  /// Makes two mappings, one behind the other, and a busy stream.
  void two_neighbours() {
    map();
    map(kNext);
    busy(s_);
  }
  CUdeviceptr allocate(CUdeviceptr at, CUstream where) {
    answers.pool_memory = at;
    CUdeviceptr out = 0;
    EXPECT_OK(run(calls::MemAllocAsync{&out, kGranule, where}));
    return out;
  }
};

TEST_F(WorkEnds, TheEndOfAKernelsMemoryIsNoUseOfWhatBeginsThere) {
  two_neighbours();
  launch(s_, {kBase + 64, kNext});
  unmap(kNext);
  EXPECT_THAT(findings(), IsEmpty());
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkEnds, TheEndCountsAlthoughItsMemoryIsGone) {
  two_neighbours();
  launch(s_, {kBase + 64, kNext});
  unmap();
  unmap(kNext);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle")) << "of the first alone";
}

TEST_F(WorkEnds, AloneItIsWhereMemoryBeginsButNotForSure) {
  two_neighbours();
  launch(s_, {kNext});
  unmap(kNext);
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
  EXPECT_THAT(sink.all[0].violation.message,
              testing::HasSubstr(", which is also the end of what lies before"));
}

// Such a kernel walks backwards: thrust::reverse_iterator, rbegin().
TEST_F(WorkEnds, AloneWhereNothingBeginsItIsAUseOfWhatEndsThere) {
  map();
  busy(s_);
  launch(s_, {kNext});
  EXPECT_THAT(findings(), IsEmpty());
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_THAT(sink.all[0].violation.message,
              testing::HasSubstr("(argument 0x700000400000, the end of it"));
}

TEST_F(WorkEnds, AnAddressInsideIsNamedBeforeTheEnd) {
  map();
  busy(s_);
  launch(s_, {kNext, kBase + 64});
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_THAT(sink.all[0].violation.message, testing::HasSubstr("(argument 0x700000000040, call"));
}

TEST_F(WorkEnds, TheBeginningAndTheEndOfTheNextMemoryAreAUseOfIt) {
  two_neighbours();
  launch(s_, {kNext, kNext + kSize});
  unmap(kNext);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkEnds, ANumberThatNobodyCallsAPointerIsNoEnd) {
  answers.name = "walk";
  map();
  busy(s_);
  launch(s_, {kNext});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

// If memory begins at the address, or may begin there, the kernel got the address as the beginning
// of that memory.
TEST_F(WorkEnds, WhereAReservationGoesOnAnEndMayBeItsNextPart) {
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kNext, 0});
  map();
  busy(s_);
  launch(s_, {kNext});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEnds, MemoryThatOnlyTheDriverKnowsMayBeginThere) {
  answers.places[kNext] = CU_MEMORYTYPE_DEVICE;
  map();
  busy(s_);
  launch(s_, {kNext});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEnds, WhereMemoryBeganAnEndMayHaveBeenThat) {
  two_neighbours();
  launch(s_, {kNext});
  unmap(kNext);
  run(calls::MemAddressFree{kNext, kSize});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered")) << "of the second alone";
  map();
  launch(s_, {kNext});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered", "cuMemUnmap-idle"))
      << "but not for a later launch";
}

TEST_F(WorkEnds, TheEndOfPoolMemoryAloneIsAUseOfIt) {
  allocate(kBase, s_);
  run(calls::StreamSynchronize{s_});
  busy(t_);
  launch(t_, {kBase + kGranule});
  EXPECT_OK(run(calls::MemFreeAsync{kBase, s_}));
  EXPECT_THAT(findings(), ElementsAre("cuMemFreeAsync-ordered"));
}

TEST_F(WorkEnds, WhereNothingEndsMemoryBeginsForSure) {
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase, 0});
  map(kNext);
  busy(s_);
  launch(s_, {kNext});
  unmap(kNext);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkEnds, AnAddressInsideOfTheNextMemoryIsAUseOfIt) {
  two_neighbours();
  launch(s_, {kBase, kNext, kNext + 8});
  unmap(kNext);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkEnds, OnlyPointersCanBeEnds) {
  two_neighbours();
  launch(s_, {kBase});
  run(calls::MemsetD8Async{kNext, 1, 16, s_});
  unmap(kNext);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkEnds, TheEndOfPoolMemoryIsNoUseOfTheNext) {
  allocate(kBase, s_);
  allocate(kBase + kGranule, s_);
  run(calls::StreamSynchronize{s_});
  busy(t_);
  launch(t_, {kBase, kBase + kGranule});
  EXPECT_OK(run(calls::MemFreeAsync{kBase + kGranule, s_}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEnds, TheEndOfPoolMemoryIsNotUsedBeforeItsAllocation) {
  allocate(kBase, s_);
  run(calls::StreamSynchronize{s_});
  busy(s_);
  allocate(kBase + kGranule, s_);
  launch(t_, {kBase, kBase + kGranule});
  EXPECT_THAT(findings(), IsEmpty());
  launch(t_, {kBase, kBase + kGranule + 8});
  EXPECT_THAT(findings(), ElementsAre("data-pool-ordered"));
}

// cuvmm does not follow plain memory, and does not note arguments that point into it.
TEST_F(WorkEnds, TheBeginningMayLieInMemoryThatIsNotFollowed) {
  answers.plain_memory = kBase - kSize;
  CUdeviceptr plain = 0;
  EXPECT_OK(run(calls::MemAlloc{&plain, kSize}));
  map();
  busy(s_);
  launch(s_, {plain, kBase});
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  map();
  launch(s_, {0, kBase});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered")) << "nothing else is given";
}

TEST_F(WorkEnds, TheBeginningMayLieInAStruct) {
  answers.name = "_Z1k4BothPf";
  answers.layout = {{0, 16}, {16, 8}};
  two_neighbours();
  std::uint64_t both[] = {kBase, 8}, end = kNext;
  void* parameters[] = {both, &end};
  run(calls::LaunchKernel{.f = function(), .hStream = s_, .kernelParams = parameters});
  unmap(kNext);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEnds, TheEndOfMemoryIsNoPlaceThatNeedsAccess) {
  map();
  map(kNext, kSize, false);
  launch(nullptr, {kBase, kNext});  // the driver takes the device from the current context
  EXPECT_THAT(findings(), IsEmpty());
  launch(nullptr, {kNext, 0});
  EXPECT_THAT(findings(), IsEmpty()) << "it may walk backwards";
  launch(nullptr, {kNext + 8, 0});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-access"));
}

TEST_F(WorkEnds, TheEndOfMemoryThatTheDeviceMayNotUseIsNoExcuse) {
  map(kBase, kSize, false);
  map(kNext, kSize, false);
  launch(nullptr, {kNext});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-access"));
}

// --- Arenas

class WorkArenas : public WorkEnds {
 protected:
  /// Reserves eight pages and maps memory to a few of them.
  void arena(std::initializer_list<std::size_t> pages) {
    CUdeviceptr reserved = 0;
    run(calls::MemAddressReserve{&reserved, 8 * kGranule, 0, kBase, 0});
    for (const std::size_t each : pages) back(each);
  }
  void back(std::size_t number, bool access = true) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    run(calls::MemCreate{&handle, kGranule, &prop, 0});
    run(calls::MemMap{page(number), kGranule, 0, handle, 0});
    CUmemAccessDesc desc{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (access) run(calls::MemSetAccess{page(number), kGranule, &desc, 1});
  }
  static CUdeviceptr page(std::size_t number) { return kBase + number * kGranule; }
};

TEST_F(WorkArenas, TheBeginningOfAnArenaNeedNoMemory) {
  arena({2, 3});
  launch(s_, {page(0)});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkArenas, NorDoesItNeedMemoryAnyMore) {
  arena({0, 3});
  launch(s_, {page(0)});
  run(calls::StreamSynchronize{s_});
  unmap(page(0), kGranule);
  launch(s_, {page(0)});
  EXPECT_THAT(findings(), IsEmpty());
  unmap(page(3), kGranule);
  launch(s_, {page(0)});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive")) << "all of it is gone";
}

TEST_F(WorkArenas, BehindAllOfItsMemoryAnAddressLeadsToNothing) {
  arena({0, 1});
  launch(s_, {page(4)});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-mapped"));
}

TEST_F(WorkArenas, APartOfAnArenaMayEndWhereNothingIs) {
  arena({0, 1});
  launch(s_, {page(0), page(4)});
  EXPECT_THAT(findings(), IsEmpty());
  launch(s_, {0, page(4)});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-mapped"))
      << "what is right beside other arguments is looked at again";
}

TEST_F(WorkArenas, AnArenaMayEndWhereOtherMemoryIsOrWas) {
  constexpr CUdeviceptr kBehind = kBase + 8 * kGranule;
  arena({0, 1});
  map(kBehind);
  busy(s_);
  launch(s_, {page(0), kBehind});
  unmap(kBehind);
  EXPECT_THAT(findings(), IsEmpty());
  run(calls::MemAddressFree{kBehind, kSize});
  launch(s_, {page(0), kBehind});
  EXPECT_THAT(findings(), IsEmpty());
  launch(s_, {0, kBehind});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
}

TEST_F(WorkArenas, TheBeginningOfAnArenaNeedNoAccess) {
  arena({});
  back(0, false);
  back(1);
  launch(nullptr, {page(0)});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkArenas, OneElementBeforeMemoryIsNoPlaceToGo) {
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase, 0});
  map(kNext);
  launch(s_, {kNext - 8});
  EXPECT_THAT(findings(), IsEmpty());
  launch(s_, {kNext - kGranule});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-mapped"));
}

TEST_F(WorkArenas, OneElementBeforeMemoryMayBeWhereOtherMemoryWas) {
  allocate(kBase, s_);
  allocate(kBase + kGranule, s_);
  EXPECT_OK(run(calls::MemFreeAsync{kBase, s_}));
  launch(s_, {kBase + kGranule - 4});
  EXPECT_THAT(findings(), IsEmpty());
}

// A copy or a fill uses all of its bytes.
TEST_F(WorkArenas, AFillOfAGraphInAnArenaIsJudged) {
  arena({2});
  CUDA_MEMSET_NODE_PARAMS node{};
  node.dst = page(0);
  node.elementSize = 4;
  node.width = node.height = 1;
  answers.fill_nodes = {node};
  CUgraphExec exec = nullptr;
  run(calls::GraphInstantiateWithFlags{&exec, nullptr, 0});
  run(calls::GraphLaunch{exec, s_});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-mapped"));
}

}  // namespace
}  // namespace cuvmm::shim
