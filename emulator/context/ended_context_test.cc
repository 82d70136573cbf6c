// SPDX-License-Identifier: Apache-2.0
// The answers of calls while an ended context is current, as recorded on an H200, call by call.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

constexpr CUdevice kDevice = 6;  // used by no other test

class EndedContext : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    context_ = use_device(kDevice);
    ASSERT_OK(driver()(calls::MemAlloc{&plain_, 1024}));
    ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 0));
    ASSERT_OK(driver()(calls::EventCreate{&event_, 0}));
  }
  void TearDown() override {
    while (driver()(calls::DevicePrimaryCtxRelease{kDevice}) == CUDA_SUCCESS) {
    }
    use_device(0);
  }

  static CUresult allocate() {
    CUdeviceptr memory = 0;
    return driver()(calls::MemAlloc{&memory, 1024});
  }
  static int active() {
    unsigned flags = 9;
    int value = 9;
    EXPECT_OK(driver()(calls::DevicePrimaryCtxGetState{kDevice, &flags, &value}));
    return value;
  }
  static CUresult query(CUstream stream) {
    return symbol<CUresult(CUstream)>("cuStreamQuery")(stream);
  }

  void expect_ended() {
    EXPECT_EQ(active(), 0);
    constexpr CUresult kEnded = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUcontext current = nullptr;
    EXPECT_OK(driver()(calls::CtxGetCurrent{&current}));
    EXPECT_EQ(current, context_);
    CUdevice device = -1;
    EXPECT_OK(driver()(calls::CtxGetDevice{&device}));
    EXPECT_EQ(device, kDevice);
    EXPECT_EQ(driver()(calls::CtxSynchronize{}), kEnded);
    EXPECT_EQ(allocate(), kEnded);
    EXPECT_EQ(driver()(calls::MemFree{plain_}), kEnded);
    EXPECT_EQ(driver()(calls::MemFree{0}), kEnded);
    EXPECT_EQ(driver()(calls::MemsetD8{plain_, 1, 1}), kEnded);
    std::size_t free = 0, total = 0;
    EXPECT_EQ(driver()(calls::MemGetInfo{&free, &total}), kEnded);
    CUdeviceptr base = 0;
    EXPECT_EQ(driver()(calls::MemGetAddressRange{&base, &free, plain_}), kEnded);
    EXPECT_EQ(query(stream_), kEnded);
    EXPECT_EQ(query(nullptr), kEnded);
    EXPECT_EQ(driver()(calls::EventRecord{event_, stream_}), kEnded);
    EXPECT_EQ(driver()(calls::MemAllocAsync{&base, 64, stream_}), kEnded);
    CUipcMemHandle handle;
    EXPECT_EQ(driver()(calls::IpcGetMemHandle{&handle, plain_}), kEnded);
    int ordinal = 0;
    EXPECT_EQ(
        driver()(calls::PointerGetAttribute{&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, plain_}),
        CUDA_ERROR_INVALID_VALUE);
    const Mapped m = mapped();  // needs no context
    EXPECT_EQ(driver()(calls::MemsetD8{m.address, 1, 1}), kEnded);
    end(m);
    EXPECT_OK(driver()(calls::CtxPushCurrent{context_}));
    EXPECT_OK(driver()(calls::CtxPopCurrent{&current}));
    EXPECT_OK(driver()(calls::CtxSetCurrent{context_}));
  }

  CUdeviceptr plain_ = 0;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
};

TEST_F(EndedContext, AReleasedOneIsDestroyedUntilItIsRetained) {
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRelease{kDevice}));
  expect_ended();
  EXPECT_EQ(driver()(calls::DevicePrimaryCtxRelease{kDevice}), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext again = nullptr;
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&again, kDevice}));
  EXPECT_EQ(again, context_);
  EXPECT_EQ(active(), 1);
  EXPECT_OK(allocate());
  EXPECT_EQ(query(stream_), CUDA_ERROR_INVALID_HANDLE) << "it went with the context";
}

// An H100. The same calls with a stream that ended with its context kill that driver.
TEST_F(EndedContext, ItsEventsSayThatItIsDestroyed) {
  use_device(0);
  CUevent own = nullptr;
  ASSERT_OK(driver()(calls::EventCreate{&own, 0}));
  ASSERT_OK(driver()(calls::EventRecord{own, nullptr}));
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRelease{kDevice}));
  constexpr CUresult kEnded = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  float ms = 0;
  EXPECT_EQ(driver()(calls::EventQuery{event_}), kEnded);
  EXPECT_EQ(driver()(calls::EventSynchronize{event_}), kEnded);
  EXPECT_EQ(driver()(calls::EventRecord{event_, nullptr}), kEnded);
  EXPECT_EQ(driver()(calls::EventElapsedTime{&ms, own, event_}), kEnded);
  EXPECT_EQ(driver()(calls::EventElapsedTime{&ms, event_, own}), kEnded);
  EXPECT_EQ(driver()(calls::StreamWaitEvent{nullptr, event_, 0}), kEnded);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(driver()(calls::EventDestroy{event_}), kEnded);
  EXPECT_OK(driver()(calls::EventDestroy{own}));
  EXPECT_EQ(driver()(calls::EventDestroy{own}), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EndedContext, AResetKeepsTheReferences) {
  ASSERT_OK(driver()(calls::DevicePrimaryCtxReset{kDevice}));
  expect_ended();
  CUcontext again = nullptr;
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&again, kDevice}));
  EXPECT_OK(allocate());
  EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{kDevice}));
  EXPECT_EQ(active(), 1) << "one is left from before the reset";
  EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{kDevice}));
  EXPECT_EQ(active(), 0);
  EXPECT_EQ(driver()(calls::DevicePrimaryCtxRelease{kDevice}), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(EndedContext, ItsMemoryEndedWithIt) {
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRelease{kDevice}));
  CUcontext again = nullptr;
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&again, kDevice}));
  EXPECT_EQ(driver()(calls::MemFree{plain_}), CUDA_ERROR_INVALID_VALUE);
  // The address may be allocated again: then it is ordinary memory.
  for (int i = 0; i < 3; ++i) {
    CUdeviceptr other = 0;
    EXPECT_OK(driver()(calls::MemAlloc{&other, 1024}));
    EXPECT_OK(driver()(calls::MemFree{other}));
    EXPECT_EQ(driver()(calls::MemFree{other}), CUDA_ERROR_INVALID_VALUE);
  }
}

// As an H100 answers.
TEST_F(EndedContext, ItsPageLockedMemoryEndedWithIt) {
  alignas(4096) static char own[4096];
  void* allocated = nullptr;
  ASSERT_OK(driver()(calls::MemHostRegister{own, sizeof own, 0}));
  ASSERT_OK(driver()(calls::MemHostAlloc{&allocated, 4096, 0}));
  EXPECT_EQ(driver()(calls::MemHostRegister{own, sizeof own, 0}),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  ASSERT_OK(driver()(calls::DevicePrimaryCtxReset{kDevice}));
  use_device(kDevice);
  EXPECT_EQ(driver()(calls::MemFreeHost{allocated}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemHostRegister{own, sizeof own, 0}));
  EXPECT_OK(driver()(calls::MemHostUnregister{own}));
  EXPECT_EQ(driver()(calls::MemHostUnregister{own}), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  own[0] = 1;
}

TEST_F(EndedContext, ADetachedOneIsDestroyed) {
  CUcontext made = nullptr;
  const auto create = symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  ASSERT_OK(create(&made, 0, kDevice));
  CUdeviceptr memory = 0;
  EXPECT_OK(driver()(calls::MemAlloc{&memory, 1024}));
  EXPECT_OK(driver()(calls::CtxDetach{made}));
  EXPECT_EQ(driver()(calls::CtxDetach{made}), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext current = nullptr;
  EXPECT_OK(driver()(calls::CtxGetCurrent{&current}));
  EXPECT_EQ(current, context_) << "it was popped";
  EXPECT_EQ(driver()(calls::MemFree{memory}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::GreenCtxDestroy{nullptr}), CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
