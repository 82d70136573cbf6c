// SPDX-License-Identifier: Apache-2.0
// Other uses of memory, and other work in a stream: tensor maps, words that streams write,
// semaphores.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- Tensor maps

class WorkTensors : public WorkWorld {
 protected:
  /// A map of `count` bytes.
  CUtensorMap encode(CUdeviceptr address, cuuint64_t count = kSize) {
    CUtensorMap map{};
    const cuuint64_t dims[] = {count};
    calls::TensorMapEncodeTiled call{};
    call.tensorMap = &map;
    call.tensorDataType = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    call.tensorRank = 1;
    call.globalAddress = reinterpret_cast<void*>(address);
    call.globalDim = dims;
    EXPECT_OK(run(call));
    return map;
  }
  void launch_with(const CUtensorMap& map) {
    struct {
      int before = 0;
      CUtensorMap map{};
      int after = 0;
    } parameter;
    parameter.map = map;
    answers.layout = {{0, sizeof parameter}};
    void* parameters[] = {&parameter};
    run(calls::LaunchKernel{.f = function(), .hStream = s_, .kernelParams = parameters});
  }
};

TEST_F(WorkTensors, AKernelUsesTheTensorOfAMapThatItIsGiven) {
  map();
  const CUtensorMap tensor = encode(kBase);
  busy(s_);
  launch_with(tensor);
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_EQ(sink.all[0].violation.objects[0].value, kBase);
  EXPECT_EQ(sink.all[0].violation.objects[0].size, kSize);
}

TEST_F(WorkTensors, AMapOfOtherMemoryDoesNotCount) {
  map();
  map(kBase + 4 * kSize);
  const CUtensorMap tensor = encode(kBase + 4 * kSize);
  busy(s_);
  launch_with(tensor);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTensors, BytesThatNobodyEncodedAreNoMap) {
  map();
  CUtensorMap tensor = encode(kBase);
  tensor.opaque[0] += kSize * 16;  // these bytes are no map now
  busy(s_);
  launch_with(tensor);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkTensors, WhatIsOverTheWholeTensorIsNotCertainlyInUse) {
  map();
  map(kBase + kSize);
  const CUtensorMap tensor = encode(kBase, 2 * kSize);
  busy(s_);
  launch_with(tensor);
  unmap(kBase + kSize);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered")) << "it may stay in the first half";
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-ordered", "cuMemUnmap-idle"));
}

TEST_F(WorkTensors, AMapWithAnotherAddressIsAnotherTensor) {
  map();
  map(kBase + 4 * kSize);
  CUtensorMap tensor = encode(kBase);
  EXPECT_OK(
      run(calls::TensorMapReplaceAddress{&tensor, reinterpret_cast<void*>(kBase + 4 * kSize)}));
  busy(s_);
  launch_with(tensor);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
  unmap(kBase + 4 * kSize);
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_EQ(sink.all[0].violation.objects[0].size, kSize) << "it goes as far as the old one";
}

TEST_F(WorkTensors, ATensorThatWasUnmappedIsFoundAtTheLaunch) {
  map();
  const CUtensorMap tensor = encode(kBase);
  launch_with(tensor);
  run(calls::StreamSynchronize{s_});
  unmap();
  launch_with(tensor);
  ASSERT_THAT(findings(), ElementsAre("launch-argument-alive"));
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("argument 0 is 0x700000000000"));
}

// --- Words that streams write, and wait for

using WorkWords = WorkWorld;

TEST_F(WorkWords, AStreamThatWritesAWordUsesIt) {
  map();
  busy(s_);
  EXPECT_OK(run(calls::StreamWriteValue32{s_, kBase + 8, 1, 0}));
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_EQ(sink.all[0].violation.objects[0].value, kBase + 8);
  EXPECT_EQ(sink.all[0].violation.objects[0].size, 4u);
}

TEST_F(WorkWords, AStreamThatWaitsForAWordUsesIt) {
  map();
  busy(s_);
  EXPECT_OK(run(calls::StreamWaitValue32{s_, kBase, 1, CU_STREAM_WAIT_VALUE_EQ}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkWords, EachOfABatchIsUsed) {
  map();
  map(kBase + 4 * kSize);
  CUstreamBatchMemOpParams operations[2] = {};
  for (CUstreamBatchMemOpParams& each : operations) {
    each.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  }
  operations[0].writeValue.address = kBase;
  operations[1].writeValue.address = kBase + 4 * kSize;
  busy(s_);
  EXPECT_OK(run(calls::StreamBatchMemOp{s_, 2, operations, 0}));
  unmap(kBase + 4 * kSize);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkWords, AWordElsewhereIsNotUsed) {
  map();
  map(kBase + 4 * kSize);
  busy(s_);
  EXPECT_OK(run(calls::StreamWriteValue32{s_, kBase + 4 * kSize, 1, 0}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

// --- Work in a stream that uses no followed memory

using WorkBehind = WorkWorld;

TEST_F(WorkBehind, ASemaphoreBehindTheWorkMayTellTheHostThatItIsOver) {
  map();
  busy(s_);
  launch(s_, {kBase});
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params{};
  CUexternalSemaphore semaphore = nullptr;
  EXPECT_OK(run(calls::SignalExternalSemaphoresAsync{&semaphore, &params, 1, s_}));
  unmap();
  EXPECT_THAT(findings(), testing::Not(testing::Contains(testing::StartsWith("cuMemUnmap"))));
}

TEST_F(WorkBehind, AWaitForASemaphoreOfAnotherStreamChangesNothing) {
  map();
  busy(s_);
  launch(s_, {kBase});
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params{};
  CUexternalSemaphore semaphore = nullptr;
  EXPECT_OK(run(calls::WaitExternalSemaphoresAsync{&semaphore, &params, 1, t_}));
  unmap();
  EXPECT_THAT(findings(), testing::Contains("cuMemUnmap-idle"));
}

}  // namespace
}  // namespace cuvmm::shim
