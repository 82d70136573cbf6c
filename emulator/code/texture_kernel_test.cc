// SPDX-License-Identifier: Apache-2.0
// Kernels that read textures, and that read and write surfaces.
#include <cmath>
#include <string>
#include <vector>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

// Thread i reads the texture at coordinates x[i] and y[i], and writes four channels.
std::string reads(const std::string& instruction) {
  return ".version 8.3\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n"
         ".reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n"
         "ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
         "mov.u32 %r0, %tid.x; mul.wide.u32 %rd3, %r0, 8; add.u64 %rd1, %rd1, %rd3;\n"
         "mul.wide.u32 %rd3, %r0, 16; add.u64 %rd2, %rd2, %rd3;\n"
         "ld.global.v2.f32 {%f0, %f1}, [%rd1]; cvt.rzi.s32.f32 %r1, %f0; cvt.rzi.s32.f32 %r2, "
         "%f1;\n" +
         instruction + "\nst.global.v4.f32 [%rd2], {%f2, %f3, %f4, %f5};\nret;\n}\n";
}

class TextureKernel : public EmulatorTest {
 protected:
  static constexpr unsigned kWidth = 4, kHeight = 2, kLayers = 3;
  static constexpr std::uint64_t kIn = 1 << 16, kOut = 1 << 17, kRows = 1 << 18;

  void SetUp() override {
    EmulatorTest::SetUp();
    memory_ = mapped().address;
  }
  void TearDown() override {
    if (array_) driver()(calls::ArrayDestroy{array_});
    if (module_) symbol<CUresult(CUmodule)>("cuModuleUnload")(module_);
  }

  // An array whose element (x, y, z) is 100 z + 10 y + x.
  CUDA_RESOURCE_DESC array(unsigned depth = 0, unsigned flags = 0) {
    const CUDA_ARRAY3D_DESCRIPTOR shape{kWidth, kHeight, depth, CU_AD_FORMAT_FLOAT, 1, flags};
    EXPECT_OK(driver()(calls::Array3DCreate{&array_, &shape}));
    std::vector<float> elements;
    for (unsigned z = 0; z < std::max(depth, 1u); ++z)
      for (unsigned y = 0; y < kHeight; ++y)
        for (unsigned x = 0; x < kWidth; ++x)
          elements.push_back(static_cast<float>(100 * z + 10 * y + x));
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = elements.data();
    copy.srcPitch = kWidth * sizeof(float);
    copy.srcHeight = kHeight;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array_;
    copy.WidthInBytes = kWidth * sizeof(float);
    copy.Height = kHeight;
    copy.Depth = std::max(depth, 1u);
    EXPECT_OK(driver()(calls::Memcpy3D{&copy}));
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array_;
    return resource;
  }

  static CUtexObject texture(const CUDA_RESOURCE_DESC& resource, CUaddress_mode mode,
                             unsigned flags = 0, bool linear = false) {
    CUDA_TEXTURE_DESC sampling{};
    for (CUaddress_mode& each : sampling.addressMode) each = mode;
    sampling.filterMode = linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    sampling.flags = flags;
    sampling.borderColor[0] = -1;
    CUtexObject object = 0;
    using Create = CUresult(CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
                            const CUDA_RESOURCE_VIEW_DESC*);
    EXPECT_OK(symbol<Create>("cuTexObjectCreate")(&object, &resource, &sampling, nullptr));
    return object;
  }

  // The first channel that each thread reads; the result of the launch, or else of its work, in
  // `result_`.
  std::vector<float> run(const std::string& instruction, std::uint64_t object,
                         const std::vector<std::pair<float, float>>& at) {
    CUfunction function = nullptr;
    const std::string text = reads(instruction);
    EXPECT_OK(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module_, text.c_str()));
    EXPECT_OK(symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
        &function, module_, "k"));
    CUdeviceptr in = memory_ + kIn, out = memory_ + kOut;
    EXPECT_OK(driver()(calls::MemcpyHtoD{in, at.data(), at.size() * sizeof at[0]}));
    void* parameters[] = {&object, &in, &out, nullptr};
    result_ = driver()(calls::LaunchKernel{function, 1, 1, 1, static_cast<unsigned>(at.size()), 1,
                                           1, 0, nullptr, parameters, nullptr});
    std::vector<float> texels(at.size() * 4), first;
    if (result_ == CUDA_SUCCESS) result_ = driver()(calls::CtxSynchronize{});
    if (result_ != CUDA_SUCCESS) return first;
    EXPECT_OK(driver()(calls::MemcpyDtoH{texels.data(), out, texels.size() * sizeof(float)}));
    for (std::size_t i = 0; i < texels.size(); i += 4) first.push_back(texels[i]);
    return first;
  }

  static constexpr const char* kFlat =
      "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f0, %f1}];";
  CUdeviceptr memory_ = 0;
  CUarray array_ = nullptr;
  CUmodule module_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
};

using Floats = std::vector<float>;

TEST_F(TextureKernel, ReadsTheNearestElement) {
  const CUtexObject object = texture(array(), CU_TR_ADDRESS_MODE_CLAMP);
  EXPECT_EQ(run(kFlat, object, {{0, 0}, {3.9F, 1.1F}, {-5, 0.5F}, {9, 9}, {NAN, 1}}),
            (Floats{0, 13, 0, 13, 10}));
}

TEST_F(TextureKernel, ReadsTheBorder) {
  const CUtexObject object = texture(array(), CU_TR_ADDRESS_MODE_BORDER);
  EXPECT_EQ(run(kFlat, object, {{0, 0}, {-0.1F, 0}, {4, 1}, {3, 1}}), (Floats{0, -1, -1, 13}));
}

TEST_F(TextureKernel, RepeatsWithNormalizedCoordinates) {
  const CUtexObject object =
      texture(array(), CU_TR_ADDRESS_MODE_WRAP, CU_TRSF_NORMALIZED_COORDINATES);
  EXPECT_EQ(run(kFlat, object, {{0.25F, 0}, {1.25F, 0.5F}, {-0.25F, 0}}), (Floats{1, 11, 3}));
}

TEST_F(TextureKernel, MirrorsWithNormalizedCoordinates) {
  const CUtexObject object =
      texture(array(), CU_TR_ADDRESS_MODE_MIRROR, CU_TRSF_NORMALIZED_COORDINATES);
  EXPECT_EQ(run(kFlat, object, {{1.125F, 0}, {-0.125F, 0}, {2.3F, 0}}), (Floats{3, 0, 1}));
}

TEST_F(TextureKernel, InterpolatesWithWeightsOf256Steps) {
  const CUtexObject object = texture(array(), CU_TR_ADDRESS_MODE_CLAMP, 0, true);
  EXPECT_EQ(
      run(kFlat, object, {{0.5F, 0.5F}, {1, 0.5F}, {1, 1}, {0.5F + 1.0F / 1000, 0.5F}, {0, 0}}),
      (Floats{0, 0.5F, 5.5F, 0, 0}));
}

TEST_F(TextureKernel, ReadsALayer) {
  const CUtexObject object =
      texture(array(kLayers, CUDA_ARRAY3D_LAYERED), CU_TR_ADDRESS_MODE_CLAMP);
  EXPECT_EQ(run("tex.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%r1, %f0, %f1, %f1}];", object,
                {{2, 1}, {1, 0}, {7, 0}}),
            (Floats{212, 101, 203}));
}

TEST_F(TextureKernel, ReadsLinearMemoryByIndex) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {memory_ + kRows, CU_AD_FORMAT_UNSIGNED_INT8, 1, 3};
  const unsigned char bytes[] = {255, 51, 0, 77};
  ASSERT_OK(driver()(calls::MemcpyHtoD{memory_ + kRows, bytes, sizeof bytes}));
  const std::string index = "tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd0, {%r1}];";
  EXPECT_EQ(
      run(index, texture(resource, CU_TR_ADDRESS_MODE_CLAMP), {{0, 0}, {1, 0}, {3, 0}, {-1, 0}}),
      (Floats{1, 0.2F, 0, 0}));
}

TEST_F(TextureKernel, GathersTheNeighboursOfAPoint) {
  const CUtexObject object = texture(array(), CU_TR_ADDRESS_MODE_CLAMP);
  EXPECT_EQ(run("tld4.r.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f0, %f1}];", object, {{1, 1}}),
            (Floats{10}));
}

TEST_F(TextureKernel, AnUnknownHandleIsAFault) {
  run(kFlat, 12345, {{0, 0}});
  EXPECT_EQ(result_, CUDA_ERROR_NOT_SUPPORTED);
}

class SurfaceKernel : public TextureKernel {
 protected:
  std::uint64_t surface() {
    const CUDA_RESOURCE_DESC resource = array();
    CUsurfObject object = 0;
    using Create = CUresult(CUsurfObject*, const CUDA_RESOURCE_DESC*);
    EXPECT_OK(symbol<Create>("cuSurfObjectCreate")(&object, &resource));
    return object;
  }
};

TEST_F(SurfaceKernel, WritesWhatItReads) {
  EXPECT_EQ(run("shl.b32 %r1, %r1, 2; mov.f32 %f6, 0f42280000;\n"
                "sust.b.2d.b32.trap [%rd0, {%r1, %r2}], {%f6};\n"
                "suld.b.2d.b32.trap {%f2}, [%rd0, {%r1, %r2}];",
                surface(), {{3, 1}}),
            (Floats{42}));
}

TEST_F(SurfaceKernel, ThePlaceOutsideIsClampedOrZero) {
  EXPECT_EQ(run("shl.b32 %r1, %r1, 2; suld.b.2d.b32.clamp {%f2}, [%rd0, {%r1, %r2}];", surface(),
                {{9, 9}, {-1, 1}}),
            (Floats{13, 10}));
}

TEST_F(SurfaceKernel, ThePlaceOutsideReadsZero) {
  EXPECT_EQ(run("shl.b32 %r1, %r1, 2; suld.b.2d.b32.zero {%f2}, [%rd0, {%r1, %r2}];", surface(),
                {{9, 1}, {3, 1}}),
            (Floats{0, 13}));
}

TEST_F(SurfaceKernel, ThePlaceOutsideIsAFault) {
  const OwnContext own;
  run("suld.b.2d.b32.trap {%f2}, [%rd0, {%r1, %r2}];", surface(), {{0, 2}});
  EXPECT_EQ(result_, CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
