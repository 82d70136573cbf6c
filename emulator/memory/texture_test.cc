// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects, as an H100 made and refused them.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Textures : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    const CUDA_ARRAY3D_DESCRIPTOR shape{16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    ASSERT_OK(driver()(calls::Array3DCreate{&array_, &shape}));
    ASSERT_OK(driver()(calls::MemAlloc{&memory_, 8192}));
  }
  void TearDown() override {
    EXPECT_OK(driver()(calls::ArrayDestroy{array_}));
    EXPECT_OK(driver()(calls::MemFree{memory_}));
  }
  CUDA_RESOURCE_DESC of_array() const {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array_;
    return resource;
  }
  CUDA_RESOURCE_DESC linear(CUdeviceptr address) const {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = address;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 4096;
    return resource;
  }
  CUDA_RESOURCE_DESC rows(size_t pitch) const {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = memory_;
    resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = 16;
    resource.res.pitch2D.height = 8;
    resource.res.pitch2D.pitchInBytes = pitch;
    return resource;
  }
  static CUresult tried(const CUDA_RESOURCE_DESC& resource,
                        const CUDA_TEXTURE_DESC& sampling = {}) {
    using Create = CUresult(CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
                            const CUDA_RESOURCE_VIEW_DESC*);
    CUtexObject object = 0;
    const CUresult result =
        symbol<Create>("cuTexObjectCreate")(&object, &resource, &sampling, nullptr);
    if (result == CUDA_SUCCESS) {
      EXPECT_OK(symbol<CUresult(CUtexObject)>("cuTexObjectDestroy")(object));
    }
    return result;
  }
  static CUDA_TEXTURE_DESC modes(int first, int second, int third, int filter = 0) {
    CUDA_TEXTURE_DESC sampling{};
    sampling.addressMode[0] = static_cast<CUaddress_mode>(first);
    sampling.addressMode[1] = static_cast<CUaddress_mode>(second);
    sampling.addressMode[2] = static_cast<CUaddress_mode>(third);
    sampling.filterMode = static_cast<CUfilter_mode>(filter);
    return sampling;
  }

  CUarray array_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(Textures, TellWhatTheyWereMadeOf) {
  using Create = CUresult(CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
                          const CUDA_RESOURCE_VIEW_DESC*);
  CUtexObject object = 0;
  const CUDA_RESOURCE_DESC resource = of_array();
  CUDA_TEXTURE_DESC sampling = modes(1, 2, 3, 1);
  sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
  ASSERT_OK(symbol<Create>("cuTexObjectCreate")(&object, &resource, &sampling, nullptr));
  CUDA_RESOURCE_DESC what{};
  CUDA_TEXTURE_DESC how{};
  CUDA_RESOURCE_VIEW_DESC view{};
  view.width = 7;
  EXPECT_OK(symbol<CUresult(CUDA_RESOURCE_DESC*, CUtexObject)>("cuTexObjectGetResourceDesc")(
      &what, object));
  EXPECT_EQ(what.res.array.hArray, array_);
  EXPECT_OK(
      symbol<CUresult(CUDA_TEXTURE_DESC*, CUtexObject)>("cuTexObjectGetTextureDesc")(&how, object));
  EXPECT_EQ(how.addressMode[2], 3);
  EXPECT_EQ(how.flags, unsigned{CU_TRSF_NORMALIZED_COORDINATES});
  EXPECT_OK(symbol<CUresult(CUDA_RESOURCE_VIEW_DESC*, CUtexObject)>(
      "cuTexObjectGetResourceViewDesc")(&view, object));
  EXPECT_EQ(view.width, 0u) << "there is no view";
  auto* destroy = symbol<CUresult(CUtexObject)>("cuTexObjectDestroy");
  EXPECT_OK(destroy(object));
  EXPECT_EQ(destroy(object), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, AreCheckedAsFarAsTheirKindUsesThem) {
  EXPECT_OK(tried(of_array(), modes(3, 3, 9))) << "the array has two dimensions";
  EXPECT_EQ(tried(of_array(), modes(3, 4, 0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(of_array(), modes(0, 0, 0, 2)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(tried(linear(memory_)));
  EXPECT_EQ(tried(linear(memory_ + 16)), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC normalized = linear(memory_);
  normalized.res.linear.format = static_cast<CUarray_format>(0xc0);  // UNORM_INT8X1
  EXPECT_EQ(tried(normalized), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(tried(rows(512)));
  EXPECT_EQ(tried(rows(100)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(rows(512), modes(0, 4, 0)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, SurfacesAreOfArraysOnly) {
  using Create = CUresult(CUsurfObject*, const CUDA_RESOURCE_DESC*);
  CUsurfObject object = 0;
  CUDA_RESOURCE_DESC resource = linear(memory_);
  EXPECT_EQ(symbol<Create>("cuSurfObjectCreate")(&object, &resource), CUDA_ERROR_INVALID_VALUE);
  resource = of_array();
  ASSERT_OK(symbol<Create>("cuSurfObjectCreate")(&object, &resource));
  CUDA_RESOURCE_DESC answer{};
  EXPECT_OK(symbol<CUresult(CUDA_RESOURCE_DESC*, CUsurfObject)>("cuSurfObjectGetResourceDesc")(
      &answer, object));
  EXPECT_EQ(answer.res.array.hArray, array_);
  EXPECT_OK(symbol<CUresult(CUsurfObject)>("cuSurfObjectDestroy")(object));
}

TEST_F(Textures, TheWidthOfALinearOneHasTwoLimits) {
  using Ask = CUresult(size_t*, CUarray_format, unsigned, CUdevice);
  size_t width = 0;
  auto* ask = symbol<Ask>("cuDeviceGetTexture1DLinearMaxWidth");
  ASSERT_OK(ask(&width, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0));
  EXPECT_EQ(width, size_t{1} << 30);
  ASSERT_OK(ask(&width, CU_AD_FORMAT_FLOAT, 4, 0));
  EXPECT_EQ(width, size_t{1} << 28);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
