// SPDX-License-Identifier: Apache-2.0
// Calls after which the host knows, or may know, that earlier work is over.
#include <gmock/gmock.h>

#include <cerrno>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorkWaits : public WorkWorld {
 protected:
  // The tests read from the findings about `s_` for which work the host has waited; `s_` stays busy
  // with later work.
  void use_then_more() {
    map();
    busy(s_);
    launch(s_, {kBase});
  }
  void more_work() { launch(s_, {0}); }
  static constexpr CUdeviceptr kPlain = 0x400000000;
  char pageable_[64] = {}, pinned_[64] = {};
  std::uint64_t at(char* buffer) { return reinterpret_cast<std::uintptr_t>(buffer); }
  void SetUp() override {
    answers.places[at(pinned_)] = CU_MEMORYTYPE_HOST;
    answers.places[kPlain] = CU_MEMORYTYPE_DEVICE;
    answers.places[kPlain + 64] = CU_MEMORYTYPE_DEVICE;
  }
};

// --- Copies with a stream

TEST_F(WorkWaits, ACopyToPageableMemoryMayHaveWaited) {
  use_then_more();
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pageable_, kBase, 64, s_}));
  more_work();
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(session().work().counts().unawaited, 0u);
}

TEST_F(WorkWaits, ACopyToPageableMemoryThatIsUnfinishedForSureIsFound) {
  use_then_more();
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pageable_, kBase, 64, s_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle")) << "the driver did not wait";
}

// An event would lie behind the wait, and may be late.
TEST_F(WorkWaits, NoEventIsRecordedBehindACopyThatMayHaveWaited) {
  mode = AsyncMode::kExact;
  unordered = true;
  map();
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pageable_, kBase, 64, s_}));
  EXPECT_EQ(asked("record"), 0u);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkWaits, ACopyToPinnedMemoryTellsOfItselfToo) {
  map();
  map(kBase + 4 * kSize);
  busy(s_);
  launch(s_, {kBase});
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pinned_, kBase + 4 * kSize, 64, s_}));
  more_work();
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  unmap(kBase + 4 * kSize);
  EXPECT_THAT(findings(), IsEmpty()) << "the program may have seen the bytes arrive";
}

TEST_F(WorkWaits, ACopyToPinnedMemoryThatIsOverMayHaveBeenLucky) {
  map();
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pinned_, kBase, 64, s_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(session().work().counts().unawaited, 0u);
  EXPECT_EQ(session().work().counts().perhaps_unawaited, 1u);
  map();
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pinned_, kBase, 64, s_}));
  EXPECT_OK(run(calls::StreamSynchronize{s_}));
  unmap();
  EXPECT_EQ(session().work().counts().perhaps_unawaited, 1u) << "the host has waited";
}

TEST_F(WorkWaits, AGpuMayHaveWrittenPinnedMemoryBeforeItsStreamSaysSo) {
  emulated = false;
  map();
  busy(s_);
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pinned_, kBase, 64, s_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty()) << "the program may have seen the bytes arrive";
}

TEST_F(WorkWaits, TheEmulatorHasNotBegunACopyThatItSaysIsUnfinished) {
  map();
  busy(s_);
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pinned_, kBase, 64, s_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkWaits, NorOneWhoseEventSaysSo) {
  mode = AsyncMode::kExact;
  map();
  EXPECT_OK(run(calls::MemcpyDtoHAsync{pinned_, kBase, 64, s_}));
  more_work();
  answers.event_queries[event(0xee01)] = CUDA_ERROR_NOT_READY;
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkWaits, ACopyFromPageableMemoryMayHaveWaitedForWhatIsBeforeIt) {
  map();
  map(kBase + 4 * kSize);
  busy(s_);
  launch(s_, {kBase});
  EXPECT_OK(run(calls::MemcpyHtoDAsync{kBase + 4 * kSize, pageable_, 64, s_}));
  more_work();
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  unmap(kBase + 4 * kSize);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkWaits, ACopyFromPinnedMemoryDoesNotWait) {
  use_then_more();
  EXPECT_OK(run(calls::MemcpyHtoDAsync{kPlain, pinned_, 64, s_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkWaits, ACopyFromHostToHostWaits) {
  use_then_more();
  EXPECT_OK(run(calls::MemcpyAsync{at(pinned_), at(pageable_), 64, s_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("query"), 0u);
}

TEST_F(WorkWaits, ACopyOfNothingMayNotHaveWaited) {
  use_then_more();
  EXPECT_OK(run(calls::MemcpyAsync{at(pinned_), at(pageable_), 0, s_}));
  launch(s_, {kBase});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkWaits, OneOfSeveralCopiesMayHaveWaited) {
  use_then_more();
  CUdeviceptr to[] = {kPlain, at(pageable_)}, from[] = {kPlain + 64, kBase};
  std::size_t sizes[] = {64, 64}, first[] = {0};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_OK(run(calls::MemcpyBatchAsync_v2{to, from, sizes, 2, &attributes, first, 1, s_}));
  more_work();
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

// --- Copies and fills without a stream

class StreamlessWaits : public WorkWaits {
 protected:
  void SetUp() override {
    WorkWaits::SetUp();
    map();
    busy(s_);
    launch(s_, {kBase});  // the legacy stream comes after this launch
  }
};

TEST_F(StreamlessWaits, ACopyFromPageableMemoryWaitsForWhatIsBeforeIt) {
  EXPECT_OK(run(calls::MemcpyHtoD{kBase + 64, pageable_, 64}));
  busy(CU_STREAM_LEGACY);
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle")) << "of the copy itself";
  EXPECT_EQ(sink.all[0].violation.objects.size(), 1u);
}

TEST_F(StreamlessWaits, ACopyFromPinnedMemoryWaitsForItself) {
  EXPECT_OK(run(calls::MemcpyHtoD{kBase + 64, pinned_, 64}));
  busy(CU_STREAM_LEGACY);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StreamlessWaits, ACopyToTheHostWaitsForItself) {
  EXPECT_OK(run(calls::Memcpy{at(pageable_), kBase, 64}));
  busy(CU_STREAM_LEGACY);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StreamlessWaits, ADescriptorNamesItsSides) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = kBase;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = pageable_;
  copy.WidthInBytes = 64;
  copy.Height = copy.Depth = 1;
  EXPECT_OK(run(calls::Memcpy3D{&copy}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StreamlessWaits, ACopyInsideOfADeviceDoesNotWait) {
  EXPECT_OK(run(calls::MemcpyDtoD{kPlain, kPlain + 64, 64}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(StreamlessWaits, WithSyncMemopsItWaits) {
  answers.sync_memops = {kPlain + 64};
  EXPECT_OK(run(calls::MemcpyDtoD{kPlain, kPlain + 64, 64}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StreamlessWaits, AFillOfPinnedMemoryWaits) {
  EXPECT_OK(run(calls::MemsetD8{at(pinned_), 1, 64}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StreamlessWaits, AFillOfADeviceDoesNotWait) {
  EXPECT_OK(run(calls::MemsetD8{kPlain, 1, 64}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(StreamlessWaits, ManagedMemoryIsNotCertain) {
  answers.managed = {kPlain};
  EXPECT_OK(run(calls::MemsetD8{kPlain, 1, 64}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle")) << "it is unfinished for sure";
  map();
  launch(s_, {kBase});
  more_work();
  EXPECT_OK(run(calls::MemsetD8{kPlain, 1, 64}));
  unmap();
  EXPECT_EQ(findings().size(), 1u);
}

// --- Calls that may wait as a side effect

TEST_F(WorkWaits, AFreeMayHaveWaited) {
  use_then_more();
  more_work();
  EXPECT_OK(run(calls::MemFree{kPlain}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkWaits, AFreeThatDidNotWaitIsNoExcuse) {
  use_then_more();
  EXPECT_OK(run(calls::MemFree{kPlain}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkWaits, AFreeOfMemoryOfAPoolDoesNotWait) {
  use_then_more();
  CUdeviceptr pool = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&pool, kGranule, t_}));
  more_work();
  EXPECT_OK(run(calls::MemFree{pool}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkWaits, AnUnloadMayHaveWaited) {
  use_then_more();
  more_work();
  EXPECT_OK(run(calls::ModuleUnload{nullptr}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

// --- The cost

TEST_F(WorkWaits, NobodyIsAskedWhereThereIsNoWork) {
  map();
  run(calls::Memcpy{at(pageable_), kPlain, 64});
  run(calls::MemcpyAsync{at(pageable_), kPlain, 64, s_});
  run(calls::MemsetD8{kPlain, 1, 64});
  EXPECT_EQ(asked("place"), 0u);
}

TEST_F(WorkWaits, WhatIsAskedLeavesErrnoAlone) {
  use_then_more();
  errno = 0;
  run(calls::Memcpy{at(pageable_), kPlain, 64});
  EXPECT_EQ(errno, 0);
  EXPECT_NE(asked("place"), 0u);
}

TEST_F(WorkWaits, WhatTheModelKnowsTheDriverIsNotAsked) {
  use_then_more();
  run(calls::MemcpyAsync{kBase, kBase + 64, 64, s_});
  run(calls::MemsetD8Async{kBase, 1, 64, s_});
  EXPECT_EQ(asked("place"), 0u);
}

}  // namespace
}  // namespace cuvmm::shim
