// SPDX-License-Identifier: Apache-2.0
// Calls that name objects of two contexts of one device, as an H100 answers them.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class TwoContexts : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_OK(symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&other_, 0, 0));
    ASSERT_OK(driver()(calls::StreamCreate{&there_, 0}));
    ASSERT_OK(driver()(calls::EventCreate{&event_there_, 0}));
    CUcontext popped = nullptr;
    ASSERT_OK(driver()(calls::CtxPopCurrent{&popped}));
    ASSERT_OK(driver()(calls::StreamCreate{&here_, 0}));
    ASSERT_OK(driver()(calls::EventCreate{&event_here_, 0}));
  }
  void TearDown() override {
    EXPECT_OK(driver()(calls::EventDestroy{event_here_}));
    EXPECT_OK(driver()(calls::StreamDestroy{here_}));
    EXPECT_OK(driver()(calls::CtxDestroy{other_}));
    EmulatorTest::TearDown();
  }

  CUcontext other_ = nullptr;
  CUstream here_ = nullptr, there_ = nullptr;
  CUevent event_here_ = nullptr, event_there_ = nullptr;
};

TEST_F(TwoContexts, AnEventIsRecordedAndTimedInItsOwn) {
  EXPECT_EQ(driver()(calls::EventRecord{event_here_, there_}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::EventRecord{event_there_, here_}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(driver()(calls::EventRecord{event_here_, here_}));
  EXPECT_OK(driver()(calls::EventRecord{event_there_, there_}));
  float ms = 0;
  EXPECT_EQ(driver()(calls::EventElapsedTime{&ms, event_here_, event_there_}),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(driver()(calls::EventElapsedTime{&ms, event_here_, event_here_}));
  EXPECT_OK(driver()(calls::StreamWaitEvent{there_, event_here_, 0}));
}

TEST_F(TwoContexts, ACaptureRecordsAnEventOutsideOfItInEither) {
  ASSERT_OK(driver()(calls::StreamBeginCapture{here_, CU_STREAM_CAPTURE_MODE_RELAXED}));
  EXPECT_OK(driver()(calls::EventRecordWithFlags{event_there_, here_, CU_EVENT_RECORD_EXTERNAL}));
  CUgraph graph = nullptr;
  EXPECT_OK(driver()(calls::StreamEndCapture{here_, &graph}));
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
}

TEST_F(TwoContexts, AStreamThatEndedWithItsContextIsKnownAsSuch) {  // an H200
  CUstream ended = nullptr;
  {
    const OwnContext own;
    ASSERT_EQ(driver()(calls::StreamCreate{&ended, 0}), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver()(calls::StreamQuery{ended}), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_EQ(driver()(calls::StreamCreate{&ended, 0}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::StreamDestroy{ended}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamQuery{ended}), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(TwoContexts, ADeviceIsNoPeerOfItself) {
  for (CUcontext peer : {context_, other_}) {
    EXPECT_EQ(driver()(calls::CtxEnablePeerAccess{peer, 0}), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  }
}

}  // namespace
}  // namespace cuvmm::emulator::testing
