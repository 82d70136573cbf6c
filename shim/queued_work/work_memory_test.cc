// SPDX-License-Identifier: Apache-2.0
// Access, memory of pools, and the arguments of launches.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using WorkMemory = WorkWorld;

// --- Access

TEST_F(WorkMemory, TakingAccessAwayUnderAKernelIsFound) {
  map();
  busy(s_);
  launch(s_, {kBase});
  CUmemAccessDesc desc{};
  desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  run(calls::MemSetAccess{kBase, kSize, &desc, 1});
  EXPECT_THAT(findings(), IsEmpty()) << "it takes nothing";
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  run(calls::MemSetAccess{kBase, kSize, &desc, 1});
  EXPECT_THAT(findings(), ElementsAre("cuMemSetAccess-idle"));
  launch(s_, {kBase});
  launch(s_, {0});
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  run(calls::MemSetAccess{kBase, kSize, &desc, 1});
  EXPECT_EQ(findings().back(), "cuMemSetAccess-ordered");
}

// --- Memory of other processes

TEST_F(WorkMemory, OfTwoClosesTheFirstTakesNothingAway) {
  CUipcMemHandle handle{};
  handle.reserved[0] = 1;
  for (int i = 0; i < 2; ++i) {
    CUdeviceptr out = 0;
    EXPECT_OK(run(calls::IpcOpenMemHandle{&out, handle, 1}));
  }
  launch(s_, {answers.plain_memory});
  EXPECT_OK(run(calls::IpcCloseMemHandle{answers.plain_memory}));
  EXPECT_EQ(session().work().counts().unawaited, 0u);
  launch(s_, {answers.plain_memory});  // the close may have waited for the first launch
  EXPECT_OK(run(calls::IpcCloseMemHandle{answers.plain_memory}));
  EXPECT_EQ(session().work().counts().unawaited, 1u);
  EXPECT_THAT(findings(), IsEmpty());
}

// --- Memory of pools

class PoolWork : public WorkWorld {
 protected:
  void allocate(CUstream where) {
    CUdeviceptr out = 0;
    EXPECT_OK(run(calls::MemAllocAsync{&out, kGranule, where}));
    ASSERT_EQ(out, kPool);
  }
  void allocate_plain(CUdeviceptr& out) { EXPECT_OK(run(calls::MemAlloc{&out, kGranule})); }
  static constexpr CUdeviceptr kPool = 0x300000000;
};

TEST_F(PoolWork, AFreeOnAStreamThatDidNotWaitIsFound) {
  allocate(s_);
  busy(t_);
  launch(t_, {kPool + 8});
  EXPECT_OK(run(calls::MemFreeAsync{kPool, s_}));
  ASSERT_THAT(findings(), ElementsAre("cuMemFreeAsync-ordered"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
}

// cuMemFree does not wait for work that uses a pool's memory.
TEST_F(PoolWork, AFreeAtOnceIsFound) {
  allocate(s_);
  busy(t_);
  launch(t_, {kPool + 8});
  EXPECT_OK(run(calls::MemFree{kPool}));
  ASSERT_THAT(findings(), ElementsAre("cuMemFree-idle"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
}

TEST_F(PoolWork, AFreeAtOnceUnderEarlierWorkIsFound) {
  allocate(s_);
  busy(t_);
  launch(t_, {kPool});
  launch(t_, {0});
  EXPECT_OK(run(calls::MemFree{kPool}));
  EXPECT_THAT(findings(), ElementsAre("cuMemFree-ordered"));
}

TEST_F(PoolWork, AFreeAtOnceBehindTheWorkIsFine) {
  allocate(s_);
  launch(t_, {kPool + 8});
  run(calls::EventRecord{e_, t_});
  run(calls::EventSynchronize{e_});
  busy(t_);
  EXPECT_OK(run(calls::MemFree{kPool}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PoolWork, AFreeOfPlainMemoryMayWait) {
  allocate(s_);
  CUdeviceptr plain = 0;
  answers.plain_memory = kPool + kGranule;  // inside of the bounds in which addresses are noted
  allocate_plain(plain);
  busy(t_);
  launch(t_, {plain + 8});
  EXPECT_OK(run(calls::MemFree{plain}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PoolWork, WorkThatDoesNotWaitForTheAllocationIsFound) {
  allocate(s_);
  busy(s_);
  launch(t_, {kPool + 8});
  ASSERT_THAT(findings(), ElementsAre("data-pool-ordered"));
  EXPECT_THAT(sink.all[0].violation.message, testing::HasSubstr("an argument is 0x300000008"));
  ASSERT_EQ(sink.all[0].violation.objects.size(), 1u);
  EXPECT_EQ(sink.all[0].violation.objects[0].value, kPool);
}

TEST_F(PoolWork, AnAddressInsideOfAStructDoesNotCount) {
  allocate(s_);
  busy(s_);
  std::uint64_t both[] = {7, kPool};
  void* parameters[] = {both};
  answers.layout = {{0, sizeof both}};
  run(calls::LaunchKernel{.f = function(), .hStream = t_, .kernelParams = parameters});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PoolWork, ACopyThatDoesNotWaitForTheAllocationIsFound) {
  allocate(s_);
  busy(s_);
  run(calls::MemsetD8Async{kPool, 0, 64, t_});
  EXPECT_THAT(findings(), ElementsAre("data-pool-ordered"));
}

TEST_F(PoolWork, WorkBehindTheAllocationIsFine) {
  allocate(s_);
  busy(s_);
  launch(s_, {kPool});
  run(calls::MemsetD8Async{kPool, 0, 64, s_});
  run(calls::EventRecord{e_, s_});
  run(calls::StreamWaitEvent{t_, e_, 0});
  launch(t_, {kPool});
  run(calls::MemsetD8Async{kPool, 0, 64, t_});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PoolWork, AnAllocationThatHappensToBeOverIsNotSpokenOf) {
  allocate(s_);
  launch(t_, {kPool});
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(session().work().counts().unawaited, 1u) << "but counted";
}

TEST_F(PoolWork, TheHostMayWaitForTheAllocation) {
  allocate(s_);
  busy(s_);
  run(calls::StreamSynchronize{s_});
  launch(t_, {kPool});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PoolWork, ALaunchThatIsGivenFreedMemoryIsFound) {
  allocate(s_);
  EXPECT_OK(run(calls::MemFreeAsync{kPool, s_}));
  launch(s_, {kPool + 8});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
  allocate(s_);
  launch(s_, {kPool + 8});
  EXPECT_EQ(findings().size(), 1u) << "the pool gave it out again";
}

TEST_F(PoolWork, ARefusedLaunchComesInNoOrder) {
  allocate(s_);
  busy(s_);
  answers.launch = CUDA_ERROR_INVALID_VALUE;
  launch(t_, {kPool + 8});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PoolWork, AFreeBehindTheWorkIsFine) {
  allocate(s_);
  busy(t_);
  launch(t_, {kPool});
  busy(s_);
  run(calls::EventRecord{e_, t_});
  run(calls::StreamWaitEvent{s_, e_, 0});
  launch(s_, {kPool});
  EXPECT_OK(run(calls::MemFreeAsync{kPool, s_}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(PoolWork, WorkOfBeforeTheAllocationUsedOtherMemory) {
  allocate(s_);
  busy(s_);
  launch(s_, {kPool});
  EXPECT_OK(run(calls::MemFreeAsync{kPool, s_}));
  allocate(t_);
  EXPECT_OK(run(calls::MemFreeAsync{kPool, t_}));
  EXPECT_THAT(findings(), IsEmpty());
}

// --- Arguments of launches

TEST_F(PoolWork, AnArgumentThatWasGoodIsLookedAtAgainOnceItsMemoryIsFreed) {
  allocate(s_);
  launch(s_, {kPool});
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_OK(run(calls::MemFreeAsync{kPool, s_}));
  launch(s_, {kPool});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
}

TEST_F(WorkMemory, AnArgumentWhereNothingWasMappedIsFound) {
  map();
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase + kSize, 0});
  launch(s_, {kBase + kSize + kGranule});
  ASSERT_THAT(findings(), ElementsAre("launch-argument-mapped"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
}

TEST_F(WorkMemory, AnArgumentIsNamedByItsNumberBehindOthersThatDoNotMatter) {
  map();
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase + kSize, 0});
  launch(s_, {7, kBase, 8, 9, kBase + kSize + kGranule});
  ASSERT_THAT(findings(), ElementsAre("launch-argument-mapped"));
  EXPECT_THAT(sink.all[0].violation.message, testing::HasSubstr("argument 4 is 0x"));
}

TEST_F(WorkMemory, TheEndOfAMappingIsNoPlaceToGo) {
  map();
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase + kSize, 0});
  map(kBase + 8 * kSize);
  launch(s_, {kBase, kBase + kSize});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkMemory, AnArgumentThatWasUnmappedIsFoundWithWhoDidIt) {
  map();
  launch(s_, {kBase});
  run(calls::StreamSynchronize{s_});
  unmap();
  launch(s_, {kBase});
  ASSERT_THAT(findings(), ElementsAre("launch-argument-alive"));
  const auto& objects = sink.all[0].violation.objects;
  ASSERT_FALSE(objects.empty());
  EXPECT_NE(objects[0].ended.call, 0u);
}

TEST_F(WorkMemory, AnotherAddressOfAGoodGranuleIsFoundOnceItIsUnmapped) {
  map();
  map(kBase + kSize);
  launch(s_, {kBase, kBase + kSize});
  launch(s_, {kBase + 256, kBase + kSize + 256});
  EXPECT_THAT(findings(), IsEmpty());
  run(calls::StreamSynchronize{s_});
  unmap();
  launch(s_, {kBase + 512, kBase + kSize + 512});
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
  launch(s_, {kBase + kSize + 512, kBase + 512});
  EXPECT_EQ(findings().size(), 2u) << "what was found is looked at each time";
}

TEST(ArgumentCache, AGranuleIsGoodWhereAMappingHoldsAllOfIt) {
  constexpr std::uint64_t kBase = 0x700000000000, kPart = 64 << 10;
  const auto within = [](std::uint64_t address, std::uint64_t base, std::uint64_t size) {
    return ArgumentCache::granule_within(address, base, size);
  };
  EXPECT_TRUE(within(kBase, kBase, kGranule));
  EXPECT_TRUE(within(kBase + kGranule - 1, kBase, kGranule));
  EXPECT_TRUE(within(kBase + kGranule, kBase, 2 * kGranule));
  EXPECT_FALSE(within(kBase, kBase, kPart)) << "behind it may be nothing";
  EXPECT_FALSE(within(kBase + kPart, kBase + kPart, kGranule)) << "before it may be nothing";
  EXPECT_FALSE(within(kBase + kGranule, kBase, kGranule + kPart)) << "its end is the mapping's";
  EXPECT_NE(ArgumentCache::granule(kBase), ArgumentCache::granule(kBase + kGranule));
  EXPECT_EQ(ArgumentCache::granule(kBase), ArgumentCache::granule(kBase + kGranule - 1));
}

TEST_F(WorkMemory, AnArgumentThatIsMappedAgainIsFine) {
  map();
  launch(s_, {kBase});
  run(calls::StreamSynchronize{s_});
  unmap();
  run(calls::MemAddressFree{kBase, kSize});
  map();
  launch(s_, {kBase});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkMemory, AnArgumentWithoutAccessIsFound) {
  map(kBase, kSize, false);
  launch(nullptr, {kBase});  // the driver takes the device from the current context
  EXPECT_THAT(findings(), ElementsAre("launch-argument-access"));
}

TEST_F(WorkMemory, WhatLiesInAStructIsNotJudged) {
  map(kBase, kSize, false);
  struct {
    std::uint64_t first = kBase, never_written = kBase + 8;
  } both;
  answers.layout = {{0, sizeof both}};
  void* parameters[] = {&both};
  calls::LaunchKernel call{};
  call.f = function();
  call.hStream = s_;
  call.kernelParams = parameters;
  run(call);
  EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace cuvmm::shim
