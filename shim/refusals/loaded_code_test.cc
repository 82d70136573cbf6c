// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/loaded_code.h"

#include <gmock/gmock.h>

#include <cstring>

namespace cuvmm::shim {
namespace {

using testing::HasSubstr;

CUlibrary library(std::uintptr_t number) { return reinterpret_cast<CUlibrary>(number); }

TEST(LoadedCode, IsNamedWhenTheLibraryIsUsed) {
  static const char image[] = "this is no code, and never was any";
  remember_code(library(1), {.image = image});
  EXPECT_THAT(
      loaded_code_facts(library(1), {}, CUDA_ERROR_INVALID_IMAGE),
      AllOf(HasSubstr("neither PTX, nor a cubin"), HasSubstr("cuLibraryLoadData accepted")));
  EXPECT_EQ(loaded_code_facts(library(2), {}, CUDA_ERROR_INVALID_IMAGE), "");
}

TEST(LoadedCode, AnImageThatChangedSinceTheLoadSaysNothing) {
  static char image[] = "this is no code, and never was any";
  remember_code(library(3), {.image = image});
  std::memset(image, 'x', sizeof image - 1);
  EXPECT_EQ(loaded_code_facts(library(3), {}, CUDA_ERROR_INVALID_IMAGE), "");
}

TEST(LoadedCode, AFileIsReadAgain) {
  remember_code(library(4), {.path = "/nowhere/code.cubin"});
  EXPECT_THAT(loaded_code_facts(library(4), {}, CUDA_ERROR_INVALID_IMAGE),
              AllOf(HasSubstr("/nowhere/code.cubin"), HasSubstr("cuLibraryLoadFromFile accepted")));
}

TEST(LoadedCode, OnlySomeCodesBlameIt) {
  EXPECT_TRUE(blames_code(CUDA_ERROR_INVALID_PTX));
  EXPECT_FALSE(blames_code(CUDA_ERROR_OUT_OF_MEMORY));
}

}  // namespace
}  // namespace cuvmm::shim
