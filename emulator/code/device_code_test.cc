// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/device_code.h"

#include <gtest/gtest.h>

#include "emulator/code/testing_code.h"

namespace cuvmm::emulator {
namespace {

using testing::Cubin;
using testing::fat_binary;

constexpr Capability kHopper{9, 0};

CUresult read(const std::string& image, DeviceCode& code) {
  return read_device_code(image.data(), image.size(), kHopper, code);
}

TEST(DeviceCodeTest, ACubinNamesItsKernelsAndVariables) {
  DeviceCode code;
  ASSERT_EQ(read(Cubin{}.bytes(), code), CUDA_SUCCESS);
  ASSERT_EQ(code.kernels.size(), 1u) << "a function that is no entry point is no kernel";
  EXPECT_EQ(code.kernels[0].name, "add");
  EXPECT_EQ(code.kernels[0].registers, 24);
  EXPECT_EQ(code.kernels[0].shared_bytes, 256);
  EXPECT_EQ(code.kernels[0].local_bytes, 40);
  EXPECT_EQ(code.kernels[0].constant_bytes, 8);
  ASSERT_NE(code.variable("counter"), nullptr);
  EXPECT_EQ(code.variable("counter")->size, 4u);
  EXPECT_EQ(code.variable("counter")->contents, std::string("\7\0\0\0", 4));
  ASSERT_NE(code.variable("table"), nullptr);
  EXPECT_EQ(code.variable("table")->size, 400u);
  EXPECT_EQ(code.variable("table")->contents, "");
  EXPECT_FALSE(code.hidden);
}

TEST(DeviceCodeTest, ACubinIsForItsOwnArchitecture) {
  DeviceCode code;
  EXPECT_EQ(read(Cubin{.architecture = 100}.bytes(), code), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(read(Cubin{.architecture = 80}.bytes(), code), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(read(Cubin{.abi = 7}.bytes(), code), CUDA_SUCCESS) << "as to CUDA 12";
}

TEST(DeviceCodeTest, NothingIsReadOutsideOfAFile) {
  const std::string whole = Cubin{}.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part(whole, 0, size);
    DeviceCode code;
    read(part, code);  // sanitizers look on
  }
  std::string wrong = whole;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    wrong[i] = static_cast<char>(~wrong[i]);
    DeviceCode code;
    read(wrong, code);
    wrong[i] = whole[i];
  }
}

TEST(DeviceCodeTest, PtxNamesItsKernelsAndVariables) {
  DeviceCode code;
  ASSERT_EQ(read(testing::kPtx, code), CUDA_SUCCESS);
  ASSERT_EQ(code.kernels.size(), 2u);
  EXPECT_EQ(code.kernels[0].name, "add");
  EXPECT_EQ(code.kernels[1].name, "_Z5otherPi");
  ASSERT_EQ(code.variables.size(), 3u)
      << "what is inside of a body or elsewhere is not of the module";
  EXPECT_EQ(code.variable("counter")->size, 4u);
  EXPECT_EQ(code.variable("table")->size, 400u);
  EXPECT_EQ(code.variable("pairs")->size, 96u);
  EXPECT_TRUE(code.variable("pairs")->constant);
}

TEST(DeviceCodeTest, AFatBinaryIsAsGoodAsWhatFits) {
  const std::string mine = Cubin{}.bytes(), newer = Cubin{.architecture = 100}.bytes();
  DeviceCode code;
  ASSERT_EQ(read(fat_binary({{2, 100, newer}, {2, 90, mine}}), code), CUDA_SUCCESS);
  EXPECT_NE(code.kernel("add"), nullptr);
  EXPECT_EQ(read(fat_binary({{2, 100, newer}}), code), CUDA_ERROR_NO_BINARY_FOR_GPU);
  DeviceCode text;
  ASSERT_EQ(read(fat_binary({{2, 100, newer}, {1, 80, testing::kPtx}}), text), CUDA_SUCCESS);
  EXPECT_NE(text.kernel("_Z5otherPi"), nullptr);
  DeviceCode packed;
  ASSERT_EQ(read(fat_binary({{2, 90, "compressed", 4096}}), packed), CUDA_SUCCESS);
  EXPECT_TRUE(packed.hidden);
  const std::string whole = fat_binary({{2, 90, mine}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    DeviceCode part;
    EXPECT_NE(read(whole.substr(0, size), part), CUDA_SUCCESS);
  }
}

TEST(DeviceCodeTest, WhatIsNoneOfThemIsNoImage) {
  DeviceCode code;
  for (const char* text : {"", "x", "no code at all", ".version 9.0\n", "\177ELF"}) {
    EXPECT_EQ(read(text, code), CUDA_ERROR_INVALID_IMAGE) << text;
  }
}

}  // namespace
}  // namespace cuvmm::emulator
