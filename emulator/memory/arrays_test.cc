// SPDX-License-Identifier: Apache-2.0
// Arrays keep their shape and take memory of the device (array_copy_test.cc has the copies).
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
    EXPECT_OK(driver()(calls::MemGetInfo{&free, &total}));
    return free;
  }
};

TEST_F(Arrays, KeepTheirShapeAndTakeMemory) {
  const size_t before = free_bytes();
  CUarray array = nullptr;
  ASSERT_OK(create(&array, shape(256, 128, 2)));
  EXPECT_EQ(before - free_bytes(), 256u * 128 * 2 * 4);
  CUDA_ARRAY3D_DESCRIPTOR answer{};
  auto* get = symbol<CUresult(CUDA_ARRAY3D_DESCRIPTOR*, CUarray)>("cuArray3DGetDescriptor_v2");
  ASSERT_OK(get(&answer, array));
  EXPECT_EQ(answer.Height, 128u);
  EXPECT_EQ(answer.Depth, 2u);
  CUDA_ARRAY_DESCRIPTOR flat{};
  auto* get_2d = symbol<CUresult(CUDA_ARRAY_DESCRIPTOR*, CUarray)>("cuArrayGetDescriptor_v2");
  ASSERT_OK(get_2d(&flat, array));
  EXPECT_EQ(flat.Width, 256u);
  EXPECT_EQ(flat.Format, CU_AD_FORMAT_FLOAT);
  CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
  EXPECT_EQ(driver()(calls::ArrayGetSparseProperties{&sparse, array}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(destroy(array));
  EXPECT_EQ(driver()(calls::ArrayGetSparseProperties{&sparse, array}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(destroy(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get(&answer, array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Arrays, ShapesAreChecked) {
  EXPECT_OK(tried(shape(1, 0, 0)));
  EXPECT_EQ(tried(shape(0, 0, 0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(shape(size_t{1} << 40, 0, 0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(shape(4, 0, 4)), CUDA_ERROR_INVALID_VALUE) << "neither layers nor 3D";
  EXPECT_OK(tried(shape(4, 0, 4, CUDA_ARRAY3D_LAYERED)));
  EXPECT_OK(tried(shape(4, 4, 6, CUDA_ARRAY3D_CUBEMAP)));
  EXPECT_EQ(tried(shape(4, 4, 12, CUDA_ARRAY3D_CUBEMAP)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(shape(4, 8, 6, CUDA_ARRAY3D_CUBEMAP)), CUDA_ERROR_INVALID_VALUE);
  auto wrong = shape(4, 4, 0);
  wrong.NumChannels = 3;
  EXPECT_EQ(tried(wrong), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(tried(shape(4, 4, 0, CUDA_ARRAY3D_TEXTURE_GATHER)));
  EXPECT_EQ(tried(shape(4, 4, 4, CUDA_ARRAY3D_TEXTURE_GATHER)), CUDA_ERROR_INVALID_VALUE);
  for (const unsigned graphics : {CUDA_ARRAY3D_COLOR_ATTACHMENT, CUDA_ARRAY3D_DEPTH_TEXTURE,
                                  CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_SURFACE_LDST}) {
    EXPECT_EQ(tried(shape(4, 4, 0, graphics)), CUDA_ERROR_INVALID_VALUE) << graphics;
  }
  EXPECT_OK(tried(shape(4, 4, 0, CUDA_ARRAY3D_SPARSE)));
  EXPECT_EQ(tried(shape(4, 0, 0, CUDA_ARRAY3D_SPARSE)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Arrays, FormatsHaveTheirChannels) {
  const auto of = [](int format, unsigned channels, size_t height) {
    return tried({16, height, 0, static_cast<CUarray_format>(format), channels, 0});
  };
  EXPECT_OK(of(0xc4, 2, 0)) << "UNORM_INT16X2";
  EXPECT_EQ(of(0xc4, 4, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(of(0x50, 4, 0)) << "UNORM_INT_101010_2";
  EXPECT_OK(of(0x91, 4, 8)) << "BC1_UNORM";
  EXPECT_EQ(of(0x91, 4, 0), CUDA_ERROR_INVALID_VALUE) << "a block has rows";
  EXPECT_EQ(of(0x91, 1, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(of(0xb0, 3, 8), CUDA_ERROR_INVALID_VALUE) << "NV12, which is planar";
  EXPECT_EQ(of(0x55, 1, 8), CUDA_ERROR_INVALID_VALUE) << "no format";
}

TEST_F(Arrays, OnesForDeferredMappingTellWhatTheyNeed) {
  using Ask = CUresult(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUarray, CUdevice);
  auto* ask = symbol<Ask>("cuArrayGetMemoryRequirements");
  CUarray array = nullptr, plain = nullptr, plane = nullptr;
  ASSERT_OK(create(&array, shape(100, 8, 0, CUDA_ARRAY3D_DEFERRED_MAPPING)));
  ASSERT_OK(create(&plain, shape(100, 8, 0)));
  CUDA_ARRAY_MEMORY_REQUIREMENTS answer{};
  ASSERT_OK(ask(&answer, array, 77)) << "the device is not checked";
  EXPECT_EQ(answer.size, 65536u);
  EXPECT_EQ(answer.alignment, 65536u);
  EXPECT_EQ(ask(&answer, plain, 0), CUDA_ERROR_INVALID_VALUE);
  auto* get = symbol<CUresult(CUarray*, CUarray, unsigned)>("cuArrayGetPlane");
  EXPECT_EQ(get(&plane, plain, 0), CUDA_ERROR_INVALID_VALUE) << "it has no planes";
  EXPECT_OK(destroy(array));
  EXPECT_OK(destroy(plain));
}

TEST_F(Arrays, SparseOnesHaveTilesAndTakeNoMemory) {
  const size_t before = free_bytes();
  CUarray array = nullptr;
  ASSERT_OK(create(&array, shape(512, 512, 0, CUDA_ARRAY3D_SPARSE)));
  EXPECT_EQ(free_bytes(), before);
  CUDA_ARRAY_SPARSE_PROPERTIES answer{};
  ASSERT_OK(driver()(calls::ArrayGetSparseProperties{&answer, array}));
  EXPECT_EQ(answer.tileExtent.width * answer.tileExtent.height * answer.tileExtent.depth * 4,
            65536u);
  EXPECT_EQ(answer.miptailSize, 0u);
  EXPECT_OK(destroy(array));
  ASSERT_OK(create(&array, shape(64, 64, 64, CUDA_ARRAY3D_SPARSE)));
  ASSERT_OK(driver()(calls::ArrayGetSparseProperties{&answer, array}));
  EXPECT_EQ(answer.tileExtent.depth, 16u);
  EXPECT_EQ(answer.tileExtent.width * answer.tileExtent.height * 16 * 4, 65536u);
  EXPECT_OK(destroy(array));
}

TEST_F(Arrays, HaveLevels) {
  const size_t before = free_bytes();
  const auto asked = shape(256, 128, 0);
  CUmipmappedArray whole = nullptr;
  ASSERT_OK(driver()(calls::MipmappedArrayCreate{&whole, &asked, 99}));
  EXPECT_GT(before - free_bytes(), 256u * 128 * 4);
  CUarray first = nullptr, last = nullptr, again = nullptr;
  ASSERT_OK(driver()(calls::MipmappedArrayGetLevel{&first, whole, 1}));
  ASSERT_OK(driver()(calls::MipmappedArrayGetLevel{&last, whole, 8}));
  EXPECT_EQ(driver()(calls::MipmappedArrayGetLevel{&again, whole, 9}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(driver()(calls::MipmappedArrayGetLevel{&again, whole, 1}));
  EXPECT_EQ(again, first);
  CUDA_ARRAY_DESCRIPTOR answer{};
  auto* get = symbol<CUresult(CUDA_ARRAY_DESCRIPTOR*, CUarray)>("cuArrayGetDescriptor_v2");
  ASSERT_OK(get(&answer, first));
  EXPECT_EQ(answer.Width, 128u);
  EXPECT_EQ(answer.Height, 64u);
  ASSERT_OK(get(&answer, last));
  EXPECT_EQ(answer.Width, 1u);
  EXPECT_EQ(answer.Height, 1u);
  EXPECT_EQ(destroy(reinterpret_cast<CUarray>(whole)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(driver()(calls::MipmappedArrayDestroy{whole}));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(get(&answer, first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::MipmappedArrayDestroy{whole}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::MipmappedArrayGetLevel{&again, whole, 0}), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Arrays, TheTailOfASparseOneIsWhatIsSmallerThanATile) {
  const auto asked = shape(512, 256, 0, CUDA_ARRAY3D_SPARSE);
  CUmipmappedArray whole = nullptr;
  CUDA_ARRAY_SPARSE_PROPERTIES answer{};
  ASSERT_OK(driver()(calls::MipmappedArrayCreate{&whole, &asked, 2}));
  ASSERT_OK(driver()(calls::MipmappedArrayGetSparseProperties{&answer, whole}));
  EXPECT_EQ(answer.miptailSize, 0u);
  EXPECT_OK(driver()(calls::MipmappedArrayDestroy{whole}));
  ASSERT_OK(driver()(calls::MipmappedArrayCreate{&whole, &asked, 4}));
  ASSERT_OK(driver()(calls::MipmappedArrayGetSparseProperties{&answer, whole}));
  EXPECT_EQ(answer.miptailFirstLevel, 2u);
  EXPECT_EQ(answer.miptailSize, 65536u);
  EXPECT_OK(driver()(calls::MipmappedArrayDestroy{whole}));
}

// Shapes, and the tails that an H100 answer of.
TEST_F(Arrays, ATailHasTheBytesOfItsLevels) {
  struct Seen {
    size_t width, height, depth;
    CUarray_format format;
    unsigned channels, flags, levels;
    unsigned first;
    unsigned long long size;
    bool single;
  };
  constexpr auto kByte = CU_AD_FORMAT_UNSIGNED_INT8, kHalf = CU_AD_FORMAT_HALF;
  constexpr auto kShort = CU_AD_FORMAT_UNSIGNED_INT16, kWord = CU_AD_FORMAT_UNSIGNED_INT32;
  constexpr unsigned kLayers = CUDA_ARRAY3D_LAYERED;
  constexpr Seen kSeen[] = {
      {128, 128, 16, kShort, 4, 0, 7, 1, 327680, false},
      {102, 128, 8, kWord, 2, 0, 8, 0, 1048576, true},
      {128, 512, 0, CU_AD_FORMAT_SIGNED_INT32, 4, 0, 9, 2, 131072, false},
      {540, 256, 0, kHalf, 1, 0, 1, 1, 0, false},
      {64, 64, 0, CU_AD_FORMAT_SIGNED_INT32, 2, 0, 0, 0, 65536, true},
      {516, 128, 2, kHalf, 2, kLayers, 5, 1, 131072, false},
      {64, 512, 3, CU_AD_FORMAT_SIGNED_INT16, 2, kLayers, 5, 0, 589824, true},
      {128, 128, 16, kByte, 2, 0, 9, 0, 655360, true},
  };
  for (const Seen& seen : kSeen) {
    CUmipmappedArray whole = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR asked{seen.width,    seen.height,
                                        seen.depth,    seen.format,
                                        seen.channels, seen.flags | CUDA_ARRAY3D_SPARSE};
    ASSERT_OK(driver()(calls::MipmappedArrayCreate{&whole, &asked, seen.levels}));
    CUDA_ARRAY_SPARSE_PROPERTIES answer{};
    ASSERT_OK(driver()(calls::MipmappedArrayGetSparseProperties{&answer, whole}));
    EXPECT_EQ(answer.miptailFirstLevel, seen.first) << seen.width << 'x' << seen.height;
    EXPECT_EQ(answer.miptailSize, seen.size) << seen.width << 'x' << seen.height;
    EXPECT_EQ(answer.flags, seen.single ? 1u : 0u) << seen.width << 'x' << seen.height;
    EXPECT_OK(driver()(calls::MipmappedArrayDestroy{whole}));
  }
}

TEST_F(Arrays, EndWithTheirContext) {
  CUcontext own = nullptr;
  auto* create_context = symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  const size_t before = free_bytes();
  ASSERT_OK(create_context(&own, 0, 0));
  CUarray array = nullptr;
  ASSERT_OK(create(&array, shape(256, 128, 0)));
  ASSERT_OK(driver()(calls::CtxDestroy{own}));
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(destroy(array), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
