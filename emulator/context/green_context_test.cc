// SPDX-License-Identifier: Apache-2.0
// Green contexts, as an H100 answers (580.159.04).
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class GreenContext : public EmulatorTest {
 protected:
  static constexpr CUdevice kDevice = 5;  // its primary context is current in no other test

  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&primary_, kDevice}));
    ASSERT_OK(driver()(calls::CtxPushCurrent{primary_}));
    ASSERT_OK(symbol<CUresult(CUdevice, CUdevResource*, CUdevResourceType)>(
        "cuDeviceGetDevResource")(kDevice, &whole_, CU_DEV_RESOURCE_TYPE_SM));
    unsigned count = 2;
    ASSERT_OK(symbol<CUresult(CUdevResource*, unsigned*, const CUdevResource*, CUdevResource*,
                              unsigned, unsigned)>("cuDevSmResourceSplitByCount")(
        parts_, &count, &whole_, nullptr, 0, 16));
    ASSERT_OK(describe(&description_, parts_, 1));
    ASSERT_OK(create(&green_, description_));
    ASSERT_OK(from_green(&view_, green_));
    ASSERT_OK(create_stream(&stream_, green_));
    ASSERT_OK(driver()(calls::MemAlloc{&memory_, 4096}));
  }
  void TearDown() override {
    driver()(calls::GreenCtxDestroy{green_});
    driver()(calls::CtxSetCurrent{primary_});
    driver()(calls::MemFree{memory_});
    driver()(calls::CtxPopCurrent{nullptr});
    driver()(calls::DevicePrimaryCtxRelease{kDevice});
    EmulatorTest::TearDown();
  }

  static CUresult describe(CUdevResourceDesc* out, CUdevResource* parts, unsigned count) {
    return symbol<CUresult(CUdevResourceDesc*, CUdevResource*, unsigned)>(
        "cuDevResourceGenerateDesc")(out, parts, count);
  }
  static CUresult create(CUgreenCtx* out, CUdevResourceDesc description, CUdevice device = kDevice,
                         unsigned flags = 1) {
    return symbol<CUresult(CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned)>("cuGreenCtxCreate")(
        out, description, device, flags);
  }
  static CUresult from_green(CUcontext* out, CUgreenCtx green) {
    return symbol<CUresult(CUcontext*, CUgreenCtx)>("cuCtxFromGreenCtx")(out, green);
  }
  static CUresult create_stream(CUstream* out, CUgreenCtx green,
                                unsigned flags = CU_STREAM_NON_BLOCKING) {
    return symbol<CUresult(CUstream*, CUgreenCtx, unsigned, int)>("cuGreenCtxStreamCreate")(
        out, green, flags, 0);
  }
  static CUresult green_of(CUstream stream, CUgreenCtx* out) {
    return symbol<CUresult(CUstream, CUgreenCtx*)>("cuStreamGetGreenCtx")(stream, out);
  }
  template <class Of>
  static unsigned multiprocessors(const char* function, Of of) {
    CUdevResource resource{};
    EXPECT_OK(symbol<CUresult(Of, CUdevResource*, CUdevResourceType)>(function)(
        of, &resource, CU_DEV_RESOURCE_TYPE_SM));
    return resource.sm.smCount;
  }
  template <class Of>
  static unsigned long long id(const char* function, Of of) {
    unsigned long long out = 0;
    EXPECT_OK(symbol<CUresult(Of, unsigned long long*)>(function)(of, &out));
    return out;
  }
  CUresult fill(CUstream stream) const {
    return driver()(calls::MemsetD8Async{memory_, 5, 64, stream});
  }

  CUcontext primary_ = nullptr, view_ = nullptr;
  CUdevResource whole_{}, parts_[2]{};
  CUdevResourceDesc description_ = nullptr;
  CUgreenCtx green_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(GreenContext, IsMadeFromADescription) {
  CUdevResourceDesc description = nullptr;
  CUdevResource none{}, twice[] = {parts_[0], parts_[0]};
  EXPECT_OK(describe(&description, twice, 2));
  EXPECT_OK(describe(&description, &whole_, 1));
  EXPECT_OK(describe(&description, parts_, 2));
  EXPECT_EQ(describe(&description, &none, 1), CUDA_ERROR_INVALID_RESOURCE_TYPE);
  EXPECT_EQ(describe(nullptr, parts_, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(describe(&description, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(describe(&description, parts_, 0), CUDA_ERROR_INVALID_VALUE) << "an H100 dies";
  CUgreenCtx other = nullptr;
  EXPECT_EQ(create(&other, description_, kDevice, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(nullptr, description_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(&other, description_, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(create(&other, nullptr, 99, 0), CUDA_ERROR_INVALID_DEVICE) << "before the flags";
  ASSERT_EQ(create(&other, description), CUDA_SUCCESS);
  EXPECT_EQ(multiprocessors("cuGreenCtxGetDevResource", other), 32u);
  EXPECT_OK(driver()(calls::GreenCtxDestroy{other}));
  ASSERT_OK(create(&other, nullptr));
  EXPECT_OK(driver()(calls::GreenCtxDestroy{other}));
  EXPECT_EQ(driver()(calls::GreenCtxDestroy{nullptr}), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(GreenContext, IsAContextOfItsOwnWithAPartOfTheDevice) {
  EXPECT_NE(view_, primary_);
  CUcontext context = nullptr;
  EXPECT_EQ(from_green(nullptr, green_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(from_green(&context, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(multiprocessors("cuGreenCtxGetDevResource", green_), 16u);
  EXPECT_EQ(multiprocessors("cuCtxGetDevResource", view_), 16u);
  EXPECT_EQ(multiprocessors("cuCtxGetDevResource", primary_), whole_.sm.smCount);
  EXPECT_EQ(id("cuCtxGetId", view_), id("cuGreenCtxGetId", green_));
  EXPECT_NE(id("cuCtxGetId", view_), id("cuCtxGetId", primary_));
  EXPECT_EQ(driver()(calls::CtxDestroy{view_}), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(GreenContext, APlainContextHasAllMultiprocessors) {
  CUexecAffinityParam affinity{};
  auto* get = symbol<CUresult(CUexecAffinityParam*, CUexecAffinityType)>("cuCtxGetExecAffinity");
  EXPECT_OK(get(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  EXPECT_EQ(affinity.param.smCount.val, whole_.sm.smCount);
  EXPECT_EQ(get(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(symbol<CUresult()>("cuCtxResetPersistingL2Cache")());
  CUsharedconfig banks{};
  EXPECT_OK(symbol<CUresult(CUsharedconfig*)>("cuCtxGetSharedMemConfig")(&banks));
  EXPECT_OK(symbol<CUresult(CUsharedconfig)>("cuCtxSetSharedMemConfig")(
      CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
}

TEST_F(GreenContext, ItsStreamsTellIt) {
  CUstream other = nullptr;
  EXPECT_EQ(create_stream(&other, green_, CU_STREAM_DEFAULT), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_stream(&other, green_, 9), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_stream(nullptr, green_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_stream(&other, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  CUgreenCtx told = nullptr;
  EXPECT_OK(green_of(stream_, &told));
  EXPECT_EQ(told, green_);
  EXPECT_EQ(green_of(stream_, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(driver()(calls::StreamCreate{&other, CU_STREAM_NON_BLOCKING}));
  EXPECT_OK(green_of(other, &told));
  EXPECT_EQ(told, nullptr);
  EXPECT_OK(driver()(calls::StreamDestroy{other}));
  CUcontext context = nullptr;
  EXPECT_OK(driver()(calls::StreamGetCtx{stream_, &context}));
  EXPECT_EQ(context, view_);
  auto* both = symbol<CUresult(CUstream, CUcontext*, CUgreenCtx*)>("cuStreamGetCtx_v2");
  EXPECT_OK(both(stream_, &context, &told));
  EXPECT_EQ(context, primary_);
  EXPECT_EQ(told, green_);
}

TEST_F(GreenContext, ItsEventsAreThoseOfThePrimaryContext) {
  CUevent event = nullptr;
  ASSERT_OK(driver()(calls::EventCreate{&event, 0}));
  EXPECT_OK(driver()(calls::EventRecord{event, stream_}));
  EXPECT_OK(driver()(calls::GreenCtxRecordEvent{green_, event}));
  EXPECT_OK(driver()(calls::EventSynchronize{event}));
  EXPECT_OK(driver()(calls::GreenCtxWaitEvent{green_, event}));
  EXPECT_OK(driver()(calls::CtxRecordEvent{view_, event}));
  EXPECT_OK(driver()(calls::CtxWaitEvent{primary_, event}));
  EXPECT_EQ(driver()(calls::GreenCtxRecordEvent{nullptr, event}), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_OK(driver()(calls::EventDestroy{event}));
}

// As an H200 answers.
TEST_F(GreenContext, ItsEventsEndACaptureOfItsStreams) {
  CUevent event = nullptr;
  ASSERT_EQ(driver()(calls::EventCreate{&event, 0}), CUDA_SUCCESS);
  const auto begin = [&] {
    constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(driver()(calls::StreamBeginCapture{stream_, kRelaxed}), CUDA_SUCCESS);
  };
  const auto end = [&] {
    CUgraph graph = nullptr;
    return driver()(calls::StreamEndCapture{stream_, &graph});
  };
  begin();
  EXPECT_EQ(driver()(calls::GreenCtxRecordEvent{green_, event}),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(driver()(calls::GreenCtxWaitEvent{green_, event}),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  EXPECT_EQ(end(), CUDA_SUCCESS) << "the next capture is another";
  EXPECT_EQ(driver()(calls::EventDestroy{event}), CUDA_SUCCESS);
}

TEST_F(GreenContext, WhileItIsCurrentMemoryIsThePrimaryContexts) {
  ASSERT_OK(driver()(calls::CtxSetCurrent{view_}));
  CUcontext current = nullptr;
  EXPECT_OK(driver()(calls::CtxGetCurrent{&current}));
  EXPECT_EQ(current, view_);
  CUdevice device = -1;
  EXPECT_OK(driver()(calls::CtxGetDevice{&device}));
  EXPECT_EQ(device, kDevice);
  CUdeviceptr own = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&own, 4096}));
  EXPECT_OK(driver()(calls::MemsetD8{own, 1, 4096}));
  EXPECT_OK(driver()(calls::MemsetD8{memory_, 1, 64}));
  CUstream stream = nullptr;
  ASSERT_OK(driver()(calls::StreamCreate{&stream, CU_STREAM_NON_BLOCKING}));
  CUgreenCtx told = nullptr;
  EXPECT_OK(green_of(stream, &told));
  EXPECT_EQ(told, green_);
  ASSERT_OK(driver()(calls::CtxSetCurrent{primary_}));
  EXPECT_OK(driver()(calls::GreenCtxDestroy{green_}));
  EXPECT_OK(driver()(calls::MemsetD8{own, 2, 4096}));
  EXPECT_OK(driver()(calls::MemFree{own}));
}

TEST_F(GreenContext, ItsEndEndsItsStreams) {
  EXPECT_OK(fill(stream_));
  ASSERT_OK(driver()(calls::GreenCtxDestroy{green_}));
  EXPECT_EQ(driver()(calls::StreamQuery{stream_}), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  auto* captures = symbol<CUresult(CUstream, CUstreamCaptureStatus*)>("cuStreamIsCapturing");
  EXPECT_EQ(captures(stream_, nullptr), CUDA_ERROR_INVALID_VALUE) << "an H200";
  EXPECT_EQ(fill(stream_), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver()(calls::StreamDestroy{stream_}), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver()(calls::GreenCtxDestroy{green_}), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_OK(driver()(calls::CtxSetCurrent{view_}));
  CUdeviceptr memory = 0;
  EXPECT_EQ(driver()(calls::MemAlloc{&memory, 16}), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(GreenContext, KeepsThePrimaryContext) {
  EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{kDevice}));
  EXPECT_OK(driver()(calls::StreamQuery{stream_}));
  EXPECT_OK(fill(stream_));
  EXPECT_OK(driver()(calls::GreenCtxDestroy{green_}));
  EXPECT_EQ(fill(nullptr), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&primary_, kDevice}));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
