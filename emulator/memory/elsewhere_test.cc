// SPDX-License-Identifier: Apache-2.0
// Memory of a device, queried and copied while another device's context is current; recorded on two
// H200s.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Elsewhere : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 0));
    ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&other_, 1}));
    ASSERT_OK(driver()(calls::MemAlloc{&plain_, 4096}));
    ASSERT_OK(driver()(calls::MemAllocAsync{&pooled_, 4096, nullptr}));
    ASSERT_OK(driver()(calls::CtxSetCurrent{other_}));
  }
  void TearDown() override {
    EXPECT_OK(driver()(calls::CtxSetCurrent{context_}));
    EXPECT_OK(driver()(calls::MemFree{plain_}));
    EXPECT_OK(driver()(calls::MemFreeAsync{pooled_, nullptr}));
    EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{1}));
    EmulatorTest::TearDown();
  }
  static CUresult range(CUdeviceptr address) {
    CUdeviceptr base = 1;
    std::size_t size = 1;
    const CUresult result = driver()(calls::MemGetAddressRange{&base, &size, address});
    if (result == CUDA_ERROR_NOT_FOUND) {
      EXPECT_EQ(base, 0u);
      EXPECT_EQ(size, 0u);
    }
    return result;
  }
  static CUresult device_pointer(CUdeviceptr address) {
    CUdeviceptr pointer = 0;
    return driver()(
        calls::PointerGetAttribute{&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address});
  }

  CUstream stream_ = nullptr;
  CUcontext other_ = nullptr;
  CUdeviceptr plain_ = 0, pooled_ = 0;
};

TEST_F(Elsewhere, MemoryWithoutPeerAccessIsNotFound) {
  for (const CUdeviceptr address : {plain_, pooled_}) {
    EXPECT_EQ(range(address), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(device_pointer(address), CUDA_ERROR_INVALID_VALUE);
  }
  ASSERT_OK(driver()(calls::CtxEnablePeerAccess{context_, 0}));
  EXPECT_OK(range(plain_));
  EXPECT_OK(device_pointer(plain_));
  EXPECT_EQ(range(pooled_), CUDA_ERROR_NOT_FOUND) << "peer access does not open a pool";
  ASSERT_OK(symbol<CUresult(CUcontext)>("cuCtxDisablePeerAccess")(context_));
}

TEST_F(Elsewhere, ACopyAsksTheCurrentDeviceWhateverItsStream) {
  char bytes[16] = {};
  EXPECT_EQ(driver()(calls::MemcpyDtoHAsync{bytes, pooled_, sizeof bytes, stream_}),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
  EXPECT_OK(driver()(calls::MemcpyDtoHAsync{bytes, pooled_, sizeof bytes, stream_}));
}

TEST_F(Elsewhere, ABatchAsksTheDeviceOfItsStream) {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CUdeviceptr to[] = {pooled_ + 256}, from[] = {pooled_};
  std::size_t sizes[] = {16}, firsts[] = {0};
  calls::MemcpyBatchAsync_v2 batch{};
  batch.dsts = to;
  batch.srcs = from;
  batch.sizes = sizes;
  batch.count = 1;
  batch.attrs = &attributes;
  batch.attrsIdxs = firsts;
  batch.numAttrs = 1;
  batch.hStream = stream_;
  EXPECT_OK(driver()(batch));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
