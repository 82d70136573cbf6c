// SPDX-License-Identifier: Apache-2.0
// Sparse arrays: the checks of mappings into them.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class MapArray : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    CUmemAllocationProp prop = properties();
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    handle_ = create(kGranule, prop);
    CUDA_ARRAY3D_DESCRIPTOR shape{512, 512, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
    ASSERT_OK(driver()(calls::Array3DCreate{&array_, &shape}));
    info_.resource.array = array_;
    info_.subresource.sparseLevel = {0, 0, 0, 0, 0, 128, 128, 1};
    info_.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    info_.memHandle.memHandle = handle_;
    info_.deviceBitMask = 1;
  }
  void TearDown() override {
    if (array_) {
      EXPECT_OK(driver()(calls::ArrayDestroy{array_}));
    }
    EXPECT_OK(driver()(calls::MemRelease{handle_}));
  }
  CUresult run(CUstream stream = nullptr) {
    return driver()(calls::MemMapArrayAsync{&info_, 1, stream});
  }
  CUarray array_ = nullptr;
  CUmemGenericAllocationHandle handle_ = 0;
  CUarrayMapInfo info_{};
};

TEST_F(MapArray, ALegalMappingIsAccepted) { EXPECT_OK(run()); }

TEST_F(MapArray, TheRegionLiesOnTilesInTheArray) {
  info_.subresource.sparseLevel.offsetX = 64;
  EXPECT_EQ(run(), CUDA_ERROR_INVALID_VALUE);
  info_.subresource.sparseLevel.offsetX = 384;
  EXPECT_OK(run());
  info_.subresource.sparseLevel.offsetX = 512;
  EXPECT_EQ(run(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MapArray, TheArrayExistsAndIsSparse) {
  EXPECT_OK(driver()(calls::ArrayDestroy{array_}));
  array_ = nullptr;
  EXPECT_EQ(run(), CUDA_ERROR_INVALID_HANDLE);
  info_.resource.array = reinterpret_cast<CUarray>(std::uintptr_t{0x7000});
  EXPECT_EQ(run(), CUDA_ERROR_INVALID_HANDLE) << "never made";
  CUDA_ARRAY3D_DESCRIPTOR shape{512, 512, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  ASSERT_OK(driver()(calls::Array3DCreate{&array_, &shape}));
  info_.resource.array = array_;
  EXPECT_EQ(run(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MapArray, TheArgumentsAreCheckedFirst) {
  info_.flags = 1;
  EXPECT_EQ(run(), CUDA_ERROR_INVALID_VALUE);
  info_.flags = 0;
  info_.memHandle.memHandle = 0;
  EXPECT_EQ(run(), CUDA_ERROR_INVALID_HANDLE);
  info_.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  EXPECT_OK(run());
  EXPECT_EQ(driver()(calls::MemMapArrayAsync{nullptr, 1, nullptr}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MapArray, TheStreamDecidesTheDevice) {
  auto* const other = use_device(1);
  CUstream stream = nullptr;
  auto* create_stream = symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate");
  auto* destroy_stream = symbol<CUresult(CUstream)>("cuStreamDestroy_v2");
  ASSERT_OK(create_stream(&stream, 0));
  driver()(calls::CtxSetCurrent{context_});
  EXPECT_OK(run());
  EXPECT_EQ(run(stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(destroy_stream(stream));
  EXPECT_NE(other, context_);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
