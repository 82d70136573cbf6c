// SPDX-License-Identifier: Apache-2.0
// Calls that name objects of two contexts of one device, as an H100 answers them.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class TwoContexts : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_EQ(symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&other_, 0, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::StreamCreate{&there_, 0}), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::EventCreate{&event_there_, 0}), CUDA_SUCCESS);
    CUcontext popped = nullptr;
    ASSERT_EQ(driver()(calls::CtxPopCurrent{&popped}), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::StreamCreate{&here_, 0}), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::EventCreate{&event_here_, 0}), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(driver()(calls::EventDestroy{event_here_}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::StreamDestroy{here_}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::CtxDestroy{other_}), CUDA_SUCCESS);
    EmulatorTest::TearDown();
  }

  CUcontext other_ = nullptr;
  CUstream here_ = nullptr, there_ = nullptr;
  CUevent event_here_ = nullptr, event_there_ = nullptr;
};

TEST_F(TwoContexts, AnEventIsRecordedAndTimedInItsOwn) {
  EXPECT_EQ(driver()(calls::EventRecord{event_here_, there_}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::EventRecord{event_there_, here_}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::EventRecord{event_here_, here_}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::EventRecord{event_there_, there_}), CUDA_SUCCESS);
  float ms = 0;
  EXPECT_EQ(driver()(calls::EventElapsedTime{&ms, event_here_, event_there_}),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::EventElapsedTime{&ms, event_here_, event_here_}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamWaitEvent{there_, event_here_, 0}), CUDA_SUCCESS);
}

TEST_F(TwoContexts, ACaptureRecordsAnEventOutsideOfItInEither) {
  ASSERT_EQ(driver()(calls::StreamBeginCapture{here_, CU_STREAM_CAPTURE_MODE_RELAXED}),
            CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::EventRecordWithFlags{event_there_, here_, CU_EVENT_RECORD_EXTERNAL}),
            CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver()(calls::StreamEndCapture{here_, &graph}), CUDA_SUCCESS);
  EXPECT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph), CUDA_SUCCESS);
}

TEST_F(TwoContexts, ADeviceIsNoPeerOfItself) {
  for (CUcontext peer : {context_, other_}) {
    EXPECT_EQ(driver()(calls::CtxEnablePeerAccess{peer, 0}), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  }
}

}  // namespace
}  // namespace cuvmm::emulator::testing
