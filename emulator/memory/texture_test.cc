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
    ASSERT_EQ(driver()(calls::Array3DCreate{&array_, &shape}), CUDA_SUCCESS);
    ASSERT_EQ(driver()(calls::MemAlloc{&memory_, 8192}), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(driver()(calls::ArrayDestroy{array_}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::MemFree{memory_}), CUDA_SUCCESS);
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
      EXPECT_EQ(symbol<CUresult(CUtexObject)>("cuTexObjectDestroy")(object), CUDA_SUCCESS);
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
  ASSERT_EQ(symbol<Create>("cuTexObjectCreate")(&object, &resource, &sampling, nullptr),
            CUDA_SUCCESS);
  CUDA_RESOURCE_DESC what{};
  CUDA_TEXTURE_DESC how{};
  CUDA_RESOURCE_VIEW_DESC view{};
  view.width = 7;
  EXPECT_EQ(symbol<CUresult(CUDA_RESOURCE_DESC*, CUtexObject)>("cuTexObjectGetResourceDesc")(
                &what, object),
            CUDA_SUCCESS);
  EXPECT_EQ(what.res.array.hArray, array_);
  EXPECT_EQ(
      symbol<CUresult(CUDA_TEXTURE_DESC*, CUtexObject)>("cuTexObjectGetTextureDesc")(&how, object),
      CUDA_SUCCESS);
  EXPECT_EQ(how.addressMode[2], 3);
  EXPECT_EQ(how.flags, unsigned{CU_TRSF_NORMALIZED_COORDINATES});
  EXPECT_EQ(symbol<CUresult(CUDA_RESOURCE_VIEW_DESC*, CUtexObject)>(
                "cuTexObjectGetResourceViewDesc")(&view, object),
            CUDA_SUCCESS);
  EXPECT_EQ(view.width, 0u) << "there is no view";
  auto* destroy = symbol<CUresult(CUtexObject)>("cuTexObjectDestroy");
  EXPECT_EQ(destroy(object), CUDA_SUCCESS);
  EXPECT_EQ(destroy(object), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, AreCheckedAsFarAsTheirKindUsesThem) {
  EXPECT_EQ(tried(of_array(), modes(3, 3, 9)), CUDA_SUCCESS) << "the array has two dimensions";
  EXPECT_EQ(tried(of_array(), modes(3, 4, 0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(of_array(), modes(0, 0, 0, 2)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(linear(memory_)), CUDA_SUCCESS);
  EXPECT_EQ(tried(linear(memory_ + 16)), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC normalized = linear(memory_);
  normalized.res.linear.format = static_cast<CUarray_format>(0xc0);  // UNORM_INT8X1
  EXPECT_EQ(tried(normalized), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(rows(512)), CUDA_SUCCESS);
  EXPECT_EQ(tried(rows(100)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(rows(512), modes(0, 4, 0)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, SurfacesAreOfArraysOnly) {
  using Create = CUresult(CUsurfObject*, const CUDA_RESOURCE_DESC*);
  CUsurfObject object = 0;
  CUDA_RESOURCE_DESC resource = linear(memory_);
  EXPECT_EQ(symbol<Create>("cuSurfObjectCreate")(&object, &resource), CUDA_ERROR_INVALID_VALUE);
  resource = of_array();
  ASSERT_EQ(symbol<Create>("cuSurfObjectCreate")(&object, &resource), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC answer{};
  EXPECT_EQ(symbol<CUresult(CUDA_RESOURCE_DESC*, CUsurfObject)>("cuSurfObjectGetResourceDesc")(
                &answer, object),
            CUDA_SUCCESS);
  EXPECT_EQ(answer.res.array.hArray, array_);
  EXPECT_EQ(symbol<CUresult(CUsurfObject)>("cuSurfObjectDestroy")(object), CUDA_SUCCESS);
}

TEST_F(Textures, TheWidthOfALinearOneHasTwoLimits) {
  using Ask = CUresult(size_t*, CUarray_format, unsigned, CUdevice);
  size_t width = 0;
  auto* ask = symbol<Ask>("cuDeviceGetTexture1DLinearMaxWidth");
  ASSERT_EQ(ask(&width, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(width, size_t{1} << 30);
  ASSERT_EQ(ask(&width, CU_AD_FORMAT_FLOAT, 4, 0), CUDA_SUCCESS);
  EXPECT_EQ(width, size_t{1} << 28);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
