// SPDX-License-Identifier: Apache-2.0
// How sure cuvmm must be that an argument is an address before it makes a finding.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WorkEvidence : public WorkWorld {
 protected:
  /// Launches a kernel on a busy stream with this address only, and takes its memory away.
  void unmap_under(const char* name, CUdeviceptr address = kBase) {
    answers.name = name;
    map();
    busy(s_);
    launch(s_, {address});
    unmap();
  }
  void launch_into_nothing(const char* name) {
    answers.name = name;
    map();
    CUdeviceptr reserved = 0;
    run(calls::MemAddressReserve{&reserved, kSize, 0, kBase + kSize, 0});
    launch(s_, {kBase + kSize + kGranule});
  }
  WorkCounts counts() { return session().work().counts(); }
  void load(const char* text) {
    CUmodule module = nullptr;
    EXPECT_EQ(run(calls::ModuleLoadData{&module, text}), CUDA_SUCCESS);
  }
};

TEST_F(WorkEvidence, APointerByItsTypeIsInUse) {
  unmap_under("_Z1kPf");
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_EQ(counts().by_type, 1u);
}

TEST_F(WorkEvidence, AnArrayOfPointersIsByTypeToo) {
  answers.name = "_Z1kSt5arrayIPcLm2EE";
  answers.layout = {{0, 16}};
  map();
  busy(s_);
  std::uint64_t both[] = {0, kBase};
  void* parameters[] = {both};
  run(calls::LaunchKernel{.f = function(), .hStream = s_, .kernelParams = parameters});
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkEvidence, AnUntypedValueMayBeInUse) {
  unmap_under("triton_poi_fused_add_0");
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("an untyped value"));
  EXPECT_EQ(counts().by_value, 1u);
  EXPECT_EQ(counts().tracked, 1u);
}

TEST_F(WorkEvidence, AStructOfEightBytesIsNoAddress) {
  unmap_under("_Z1k4Cast");
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(counts().launches, 1u);
  EXPECT_EQ(counts().tracked, 0u);
}

TEST_F(WorkEvidence, ANumberByItsTypeIsNoAddress) {
  unmap_under("_Z1km");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEvidence, WordsOfStructsAreHintsWhereUnorderedUsesAreAskedFor) {
  unordered = true;
  unmap_under("_Z1k4Cast");
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(counts().by_word, 1u);
  EXPECT_EQ(counts().hints, 1u);
}

TEST_F(WorkEvidence, NoEventIsRecordedForAHint) {
  mode = AsyncMode::kExact;
  unordered = true;
  unmap_under("_Z1k4Cast");
  EXPECT_EQ(asked("record"), 0u);
}

TEST_F(WorkEvidence, OnlyAPointerByItsTypePointsIntoNothing) {
  launch_into_nothing("_Z1kPf");
  EXPECT_THAT(findings(), ElementsAre("launch-argument-mapped"));
}

TEST_F(WorkEvidence, AnUntypedValueIntoNothingIsNotJudged) {
  launch_into_nothing("triton_poi_fused_add_0");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEvidence, AStructThatLooksLikeAnAddressIntoNothingIsNotJudged) {
  launch_into_nothing("_Z1k4Cast");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEvidence, PtxTellsWhatAPointerIs) {
  load(".version 8.0\n.entry k(.param .u64 .ptr .align 1 k_param_0) { ret; }");
  unmap_under("k");
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkEvidence, PtxTellsWhatAStructIs) {
  load(".version 8.0\n.entry k(.param .align 4 .b8 k_param_0[8]) { ret; }");
  unmap_under("k");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkEvidence, PtxTellsOfItsOwnModuleAlone) {
  load(".version 8.0\n.entry k(.param .u64 .ptr .align 1 k_param_0) { ret; }");
  answers.module = reinterpret_cast<CUmodule>(std::uintptr_t{0x30e});
  unmap_under("k");
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered")) << "a kernel of the same name";
}

TEST_F(WorkEvidence, AModuleThatGetsTheHandleOfAnotherOneIsItself) {
  load(".version 8.0\n.entry k(.param .u64 .ptr .align 1 k_param_0) { ret; }");
  load(
      "\x7f"
      "ELF");
  unmap_under("k");
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered"));
}

TEST_F(WorkEvidence, AnElementOfAnArrayThatPointsIntoNothingIsNotJudged) {
  answers.name = "_Z1kSt5arrayIPcLm2EE";
  answers.layout = {{0, 16}};
  map();
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kSize, 0, kBase + kSize, 0});
  std::uint64_t both[] = {kBase, kBase + kSize + kGranule};
  void* parameters[] = {both};
  run(calls::LaunchKernel{.f = function(), .hStream = s_, .kernelParams = parameters});
  EXPECT_THAT(findings(), IsEmpty()) << "nobody may have written it";
}

}  // namespace
}  // namespace cuvmm::shim
