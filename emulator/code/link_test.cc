// SPDX-License-Identifier: Apache-2.0
// cuLink*: one input comes out again and can be launched; several are refused.
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

TEST_F(LinkTest, WhatItCannotDoIsRefused) {
  void* image = nullptr;
  const std::string printed = stderr_of([&] {
    EXPECT_EQ(add(CU_JIT_INPUT_OBJECT, kPtx, std::strlen(kPtx)), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(add(CU_JIT_INPUT_PTX, kBad, std::strlen(kBad)), CUDA_ERROR_INVALID_PTX);
    EXPECT_OK(add(CU_JIT_INPUT_PTX, kPtx, std::strlen(kPtx)));
    EXPECT_OK(add(CU_JIT_INPUT_PTX, kPtx, std::strlen(kPtx)));
    EXPECT_EQ(complete(&image, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  });
  EXPECT_NE(printed.find("cuLinkComplete joins no inputs"), std::string::npos) << printed;
  EXPECT_OK(destroy());
}

}  // namespace
}  // namespace cuvmm::emulator::testing
