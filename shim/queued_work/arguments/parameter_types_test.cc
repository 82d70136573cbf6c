// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/arguments/parameter_types.h"

#include <gtest/gtest.h>

#include <string>

#include "shim/queued_work/arguments/ptx_parameters.h"

namespace cuvmm::shim {
namespace {

/// One letter for each parameter. T: an address by its type; V: by its value; w: a word. "?": the
/// reader does not understand the name.
std::string letters(const std::vector<ParameterType>& types) {
  std::string text;
  for (const ParameterType& type : types) text += "wVT"[static_cast<int>(type.evidence)];
  return text;
}
std::string of_name(const char* demangled) {
  const auto types = types_of_name(demangled);
  return types ? letters(*types) : "?";
}

TEST(ParameterTypes, APointerIsOneByItsType) {
  EXPECT_EQ(of_name("fill(float*, int)"), "Tw");
  EXPECT_EQ(of_name("copy(int const*, void* __restrict__, unsigned char* const)"), "TTT");
  EXPECT_EQ(of_name("table(float (*) [4], char**)"), "TT");
  EXPECT_EQ(of_name("nothing()"), "");
}

TEST(ParameterTypes, ANumberAStructAndWhatPointsToCodeAreNoAddresses) {
  EXPECT_EQ(of_name("k(unsigned long, long long, double, Cast, int2)"), "wwwww");
  EXPECT_EQ(of_name("call(void (*)(int), int Shape::*, int (Shape::*)(float))"), "www");
}

TEST(ParameterTypes, AnArrayOfPointersIsByTypeAndHasASize) {
  const auto types = types_of_name(
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
      "std::array<char*, 2ul> >(int, at::native::FillFunctor<float>, std::array<char*, 2ul>)");
  ASSERT_TRUE(types);
  EXPECT_EQ(letters(*types), "wwT");
  EXPECT_EQ(types->back().size, 16u);
  EXPECT_EQ(
      of_name("k(at::detail::Array<char*, 3>, std::array<long, 2ul>, thrust::device_ptr<int>)"),
      "TwT");
  EXPECT_EQ(of_name("k(Pair<char*, 1>, my::Array<float*, 1>)"), "ww")
      << "nobody knows what else they hold";
}

TEST(ParameterTypes, NestedBracketsDoNotSplitAParameter) {
  EXPECT_EQ(of_name("void run<F<int, 2>, G(int, char)>(std::pair<int, float>, "
                    "f(char const*, int)::{lambda(int, int)#1}, (anonymous namespace)::S<3>*)"),
            "wwT");
  EXPECT_EQ(of_name("void k<int>(int*) [clone .constprop.0]"), "T");
}

TEST(ParameterTypes, WhatIsNotUnderstoodHasNoTypes) {
  EXPECT_EQ(of_name("triton_poi_fused_add_0"), "?");
  EXPECT_EQ(of_name("k(F<&operator<>, int*)"), "?") << "one bracket too many";
  EXPECT_EQ(of_name(""), "?");
  EXPECT_EQ(of_name("f)"), "?");
}

std::string of_ptx(const char* text) {
  std::string all;
  for (const auto& [name, types] : kernels_of_ptx(text)) all += name + ":" + letters(types) + " ";
  return all;
}

TEST(PtxParameters, PointersSayThatTheyAreSome) {
  EXPECT_EQ(of_ptx(R"(.version 8.0
.visible .entry k( // (a comment)
  .param .u64 .ptr .global .align 16 k_param_0,
  .param .u64 k_param_1, /* , */ .param .align 8 .b8 k_param_2[24],
  .param .u32 n, .param .u64 .ptr .align 1 k_param_4)
{ ld.param.u64 %rd1, [k_param_0]; ret; }
.entry second(.param .b64 a, .param .f64 b, .param .b8 c[8]) { }
.visible .entry none() { }
.visible .entry without { })"),
            "k:TwwwT second:Vww none: ");
}

TEST(PtxParameters, NothingInTheNameOfAFileIsAComment) {
  EXPECT_EQ(of_ptx(".file 1 \"/src/*.cu\"\n.entry k(.param .u64 .ptr a) { }"), "k:T ");
}

TEST(PtxParameters, TextThatIsCutOrNoPtxHasNoKernels) {
  EXPECT_EQ(of_ptx(".entry k(.param .u64 a, .param"), "");
  EXPECT_EQ(of_ptx(".entry k(.param .u64 a["), "");
  EXPECT_EQ(of_ptx("/* .entry k()"), "");
  EXPECT_EQ(of_ptx(""), "");
  EXPECT_EQ(ptx_of_image("\x7f"
                         "ELF"),
            "");
  EXPECT_EQ(ptx_of_image("\n // a\n.version 7.0"), "// a\n.version 7.0");
  EXPECT_EQ(ptx_of_image(nullptr), "");
}

}  // namespace
}  // namespace cuvmm::shim
