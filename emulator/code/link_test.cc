// SPDX-License-Identifier: Apache-2.0
// cuLink*: one input comes out again and can be launched; several become one.
#include <cstring>
#include <string>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

constexpr char kPtx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry nothing()\n{\n  ret;\n}\n";

constexpr char kBad[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible oops nothing()\n";

class LinkTest : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_OK(create(&link_));
  }
  static CUresult create(CUlinkState* out) {
    return symbol<CUresult(unsigned, CUjit_option*, void**, CUlinkState*)>("cuLinkCreate_v2")(
        0, nullptr, nullptr, out);
  }
  CUresult add(CUjitInputType type, const char* text, std::size_t size) {
    return symbol<CUresult(CUlinkState, CUjitInputType, const void*, std::size_t, const char*,
                           unsigned, CUjit_option*, void**)>("cuLinkAddData_v2")(
        link_, type, text, size, "name", 0, nullptr, nullptr);
  }
  CUresult complete(void** image, std::size_t* size) {
    return symbol<CUresult(CUlinkState, void**, std::size_t*)>("cuLinkComplete")(link_, image,
                                                                                 size);
  }
  CUresult destroy() { return symbol<CUresult(CUlinkState)>("cuLinkDestroy")(link_); }

  CUlinkState link_ = nullptr;
};

TEST_F(LinkTest, OneInputComesOutAgainAndIsLoaded) {
  // Without the terminating zero, as Python passes it.
  ASSERT_OK(add(CU_JIT_INPUT_PTX, kPtx, std::strlen(kPtx)));
  void* image = nullptr;
  std::size_t size = 0;
  ASSERT_OK(complete(&image, &size));
  ASSERT_EQ(std::string(static_cast<char*>(image), size - 1), kPtx);
  CUmodule module = nullptr;
  ASSERT_OK(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, image));
  EXPECT_OK(destroy());
  EXPECT_EQ(destroy(), CUDA_ERROR_INVALID_HANDLE);
  CUfunction function = nullptr;
  EXPECT_OK(symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
      &function, module, "nothing"));
}

TEST_F(LinkTest, ALinkWithoutInputsGivesCodeWithNothingInIt) {
  void* image = nullptr;
  std::size_t size = 0;
  ASSERT_OK(complete(&image, &size));
  EXPECT_NE(size, 0u);
  CUmodule module = nullptr;
  EXPECT_OK(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, image));
  EXPECT_EQ(complete(&image, &size), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, kPtx, std::strlen(kPtx)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinkTest, AFunctionThatNoInputDefinesEndsTheLink) {
  const std::string calls = std::string(".version 8.0\n.target sm_80\n.address_size 64\n") +
                            ".extern .func nosuch;\n.visible .entry e() { call nosuch; ret; }\n";
  ASSERT_OK(add(CU_JIT_INPUT_PTX, calls.c_str(), calls.size())) << calls;
  void* image = nullptr;
  stderr_of([&] { EXPECT_EQ(complete(&image, nullptr), CUDA_ERROR_INVALID_SOURCE); });
}

// The second input has a function `local` of its own, and is for a newer target.
constexpr char kCaller[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".extern .func (.reg .u32 out) shared_one(.reg .u32 in);\n"
    ".extern .global .align 4 .u32 base;\n"
    ".func (.reg .u32 out) local(.reg .u32 in)\n{\n add.u32 out, in, 1;\n ret;\n}\n"
    ".weak .func (.reg .u32 out) both(.reg .u32 in)\n{\n add.u32 out, in, 5;\n ret;\n}\n"
    ".visible .entry k(.param .u64 to)\n{\n .reg .u32 %r<9>;\n .reg .u64 %d;\n"
    " ld.param.u64 %d, [to];\n mov.u32 %r0, 1000;\n call (%r1), shared_one, (%r0);\n"
    " call (%r2), local, (%r1);\n call (%r2), both, (%r2);\n ld.global.u32 %r3, [base];\n"
    " add.u32 %r4, %r2, %r3;\n st.global.u32 [%d], %r4;\n ret;\n}\n";
constexpr char kCalled[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .u32 base = 20000;\n"
    ".func (.reg .u32 out) local(.reg .u32 in)\n{\n add.u32 out, in, 300;\n ret;\n}\n"
    ".weak .func (.reg .u32 out) both(.reg .u32 in)\n{\n add.u32 out, in, 5;\n ret;\n}\n"
    ".visible .func (.reg .u32 out) shared_one(.reg .u32 in)\n{\n .reg .u32 %r;\n"
    " redux.sync.max.u32 %r, in, -1;\n call (out), local, (%r);\n ret;\n}\n";

TEST_F(LinkTest, AKernelCallsAFunctionOfAnotherInput) {
  ASSERT_EQ(add(CU_JIT_INPUT_PTX, kCaller, sizeof kCaller), CUDA_SUCCESS);
  ASSERT_EQ(add(CU_JIT_INPUT_PTX, kCalled, sizeof kCalled), CUDA_SUCCESS);
  void* image = nullptr;
  ASSERT_EQ(complete(&image, nullptr), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  ASSERT_EQ(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, image),
            CUDA_SUCCESS);
  ASSERT_EQ(symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
                &kernel, module, "k"),
            CUDA_SUCCESS);
  CUdeviceptr out = 0;
  ASSERT_EQ(symbol<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2")(&out, 4), CUDA_SUCCESS);
  void* parameters[] = {&out};
  ASSERT_EQ(symbol<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, CUstream, void**, void**)>("cuLaunchKernel")(
                kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  unsigned result = 0;
  ASSERT_EQ(symbol<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2")(&result, out, 4),
            CUDA_SUCCESS);
  EXPECT_EQ(result, 1000u + 300 + 1 + 5 + 20000);
}

TEST_F(LinkTest, WhatItCannotDoIsRefused) {
  void* image = nullptr;
  const std::string printed = stderr_of([&] {
    EXPECT_EQ(add(CU_JIT_INPUT_OBJECT, kPtx, std::strlen(kPtx)), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(add(CU_JIT_INPUT_PTX, kBad, std::strlen(kBad)), CUDA_ERROR_INVALID_PTX);
    EXPECT_OK(add(CU_JIT_INPUT_PTX, kPtx, std::strlen(kPtx)));
    EXPECT_OK(add(CU_JIT_INPUT_PTX, kPtx, std::strlen(kPtx)));
    EXPECT_EQ(complete(&image, nullptr), CUDA_ERROR_INVALID_SOURCE);
  });
  EXPECT_NE(printed.find("cuLinkComplete: `nothing` is defined in two inputs"), std::string::npos)
      << printed;
  EXPECT_EQ(destroy(), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
