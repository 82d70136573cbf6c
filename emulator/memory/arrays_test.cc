// SPDX-License-Identifier: Apache-2.0
// Arrays keep their shape and take memory of the device; copies with them are refused.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Arrays : public EmulatorTest {
 protected:
  static CUresult create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    return symbol<CUresult(CUarray*, const CUDA_ARRAY3D_DESCRIPTOR*)>("cuArray3DCreate_v2")(out,
                                                                                            &shape);
  }
  static CUresult destroy(CUarray array) {
    return symbol<CUresult(CUarray)>("cuArrayDestroy")(array);
  }
  static CUDA_ARRAY3D_DESCRIPTOR shape(size_t width, size_t height, size_t depth,
                                       unsigned flags = 0) {
    return {width, height, depth, CU_AD_FORMAT_FLOAT, 1, flags};
  }
  static CUresult tried(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    CUarray array = nullptr;
    const CUresult result = create(&array, shape);
    if (result == CUDA_SUCCESS) destroy(array);
    return result;
  }
  static size_t free_bytes() {
    size_t free = 0, total = 0;
    EXPECT_EQ(driver()(calls::MemGetInfo{&free, &total}), CUDA_SUCCESS);
    return free;
  }
};

TEST_F(Arrays, KeepTheirShapeAndTakeMemory) {
  const size_t before = free_bytes();
  CUarray array = nullptr;
  ASSERT_EQ(create(&array, shape(256, 128, 2)), CUDA_SUCCESS);
  EXPECT_EQ(before - free_bytes(), 256u * 128 * 2 * 4);
  CUDA_ARRAY3D_DESCRIPTOR told{};
  auto* get = symbol<CUresult(CUDA_ARRAY3D_DESCRIPTOR*, CUarray)>("cuArray3DGetDescriptor_v2");
  ASSERT_EQ(get(&told, array), CUDA_SUCCESS);
  EXPECT_EQ(told.Height, 128u);
  EXPECT_EQ(told.Depth, 2u);
  CUDA_ARRAY_DESCRIPTOR flat{};
  auto* get_2d = symbol<CUresult(CUDA_ARRAY_DESCRIPTOR*, CUarray)>("cuArrayGetDescriptor_v2");
  ASSERT_EQ(get_2d(&flat, array), CUDA_SUCCESS);
  EXPECT_EQ(flat.Width, 256u);
  EXPECT_EQ(flat.Format, CU_AD_FORMAT_FLOAT);
  CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
  EXPECT_EQ(driver()(calls::ArrayGetSparseProperties{&sparse, array}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy(array), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::ArrayGetSparseProperties{&sparse, array}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(destroy(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get(&told, array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Arrays, ShapesAreChecked) {
  EXPECT_EQ(tried(shape(1, 0, 0)), CUDA_SUCCESS);
  EXPECT_EQ(tried(shape(0, 0, 0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(shape(size_t{1} << 40, 0, 0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(shape(4, 0, 4)), CUDA_ERROR_INVALID_VALUE) << "neither layers nor 3D";
  EXPECT_EQ(tried(shape(4, 0, 4, CUDA_ARRAY3D_LAYERED)), CUDA_SUCCESS);
  EXPECT_EQ(tried(shape(4, 4, 6, CUDA_ARRAY3D_CUBEMAP)), CUDA_SUCCESS);
  EXPECT_EQ(tried(shape(4, 4, 12, CUDA_ARRAY3D_CUBEMAP)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(shape(4, 8, 6, CUDA_ARRAY3D_CUBEMAP)), CUDA_ERROR_INVALID_VALUE);
  auto wrong = shape(4, 4, 0);
  wrong.NumChannels = 3;
  EXPECT_EQ(tried(wrong), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(shape(4, 4, 0, CUDA_ARRAY3D_DEFERRED_MAPPING)), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(tried(shape(4, 4, 0, CUDA_ARRAY3D_SPARSE)), CUDA_SUCCESS);
  EXPECT_EQ(tried(shape(4, 0, 0, CUDA_ARRAY3D_SPARSE)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Arrays, SparseOnesHaveTilesAndTakeNoMemory) {
  const size_t before = free_bytes();
  CUarray array = nullptr;
  ASSERT_EQ(create(&array, shape(512, 512, 0, CUDA_ARRAY3D_SPARSE)), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
  CUDA_ARRAY_SPARSE_PROPERTIES told{};
  ASSERT_EQ(driver()(calls::ArrayGetSparseProperties{&told, array}), CUDA_SUCCESS);
  EXPECT_EQ(told.tileExtent.width * told.tileExtent.height * told.tileExtent.depth * 4, 65536u);
  EXPECT_EQ(told.miptailSize, 0u);
  EXPECT_EQ(destroy(array), CUDA_SUCCESS);
  ASSERT_EQ(create(&array, shape(64, 64, 64, CUDA_ARRAY3D_SPARSE)), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::ArrayGetSparseProperties{&told, array}), CUDA_SUCCESS);
  EXPECT_EQ(told.tileExtent.depth, 16u);
  EXPECT_EQ(told.tileExtent.width * told.tileExtent.height * 16 * 4, 65536u);
  EXPECT_EQ(destroy(array), CUDA_SUCCESS);
}

TEST_F(Arrays, HaveLevels) {
  const size_t before = free_bytes();
  const auto asked = shape(256, 128, 0);
  CUmipmappedArray whole = nullptr;
  ASSERT_EQ(driver()(calls::MipmappedArrayCreate{&whole, &asked, 99}), CUDA_SUCCESS);
  EXPECT_GT(before - free_bytes(), 256u * 128 * 4);
  CUarray first = nullptr, last = nullptr, again = nullptr;
  ASSERT_EQ(driver()(calls::MipmappedArrayGetLevel{&first, whole, 1}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MipmappedArrayGetLevel{&last, whole, 8}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MipmappedArrayGetLevel{&again, whole, 9}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver()(calls::MipmappedArrayGetLevel{&again, whole, 1}), CUDA_SUCCESS);
  EXPECT_EQ(again, first);
  CUDA_ARRAY_DESCRIPTOR told{};
  auto* get = symbol<CUresult(CUDA_ARRAY_DESCRIPTOR*, CUarray)>("cuArrayGetDescriptor_v2");
  ASSERT_EQ(get(&told, first), CUDA_SUCCESS);
  EXPECT_EQ(told.Width, 128u);
  EXPECT_EQ(told.Height, 64u);
  ASSERT_EQ(get(&told, last), CUDA_SUCCESS);
  EXPECT_EQ(told.Width, 1u);
  EXPECT_EQ(told.Height, 1u);
  EXPECT_EQ(destroy(reinterpret_cast<CUarray>(whole)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::MipmappedArrayDestroy{whole}), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(get(&told, first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::MipmappedArrayDestroy{whole}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::MipmappedArrayGetLevel{&again, whole, 0}), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Arrays, TheTailOfASparseOneIsWhatIsSmallerThanATile) {
  const auto asked = shape(512, 256, 0, CUDA_ARRAY3D_SPARSE);
  CUmipmappedArray whole = nullptr;
  CUDA_ARRAY_SPARSE_PROPERTIES told{};
  ASSERT_EQ(driver()(calls::MipmappedArrayCreate{&whole, &asked, 2}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MipmappedArrayGetSparseProperties{&told, whole}), CUDA_SUCCESS);
  EXPECT_EQ(told.miptailSize, 0u);
  EXPECT_EQ(driver()(calls::MipmappedArrayDestroy{whole}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MipmappedArrayCreate{&whole, &asked, 4}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MipmappedArrayGetSparseProperties{&told, whole}), CUDA_SUCCESS);
  EXPECT_EQ(told.miptailFirstLevel, 2u);
  EXPECT_EQ(told.miptailSize, 65536u);
  EXPECT_EQ(driver()(calls::MipmappedArrayDestroy{whole}), CUDA_SUCCESS);
}

TEST_F(Arrays, EndWithTheirContext) {
  CUcontext own = nullptr;
  auto* create_context = symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  const size_t before = free_bytes();
  ASSERT_EQ(create_context(&own, 0, 0), CUDA_SUCCESS);
  CUarray array = nullptr;
  ASSERT_EQ(create(&array, shape(256, 128, 0)), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::CtxDestroy{own}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::CtxSetCurrent{context_}), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(destroy(array), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
