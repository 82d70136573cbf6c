// SPDX-License-Identifier: Apache-2.0
// Functions that call themselves, and functions that are called by their addresses.
#include <gtest/gtest.h>

#include "kernels/image/device_code.h"
#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

// Thread i stores the result of `body`, which leaves it in %r1, at element i.
std::string with_functions(const std::string& functions, const std::string& body) {
  return testing::module_of("mov.u32 %r0, %tid.x;\n" + body +
                                "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;\n"
                                "st.global.u32 [%rd0], %r1;",
                            functions);
}

constexpr const char* kFibonacci = R"(
.func (.param .b32 result) fibonacci(.param .b32 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra small;
  add.s32 %r2, %r1, -1;
  add.s32 %r3, %r1, -2;
  { .param .b32 given; .param .b32 got;
    st.param.b32 [given], %r2;
    call.uni (got), fibonacci, (given);
    ld.param.b32 %r4, [got]; }
  { .param .b32 given; .param .b32 got;
    st.param.b32 [given], %r3;
    call.uni (got), fibonacci, (given);
    ld.param.b32 %r5, [got]; }
  add.s32 %r1, %r4, %r5;
small:
  st.param.b32 [result], %r1;
  ret;
}
)";

constexpr const char* kCallFibonacci =
    "{ .param .b32 given; .param .b32 got; st.param.b32 [given], %r0;\n"
    "  call.uni (got), fibonacci, (given); ld.param.b32 %r1, [got]; }\n";

TEST(PtxCalls, AFunctionCallsItselfInEachThread) {
  const testing::Ran ran =
      testing::run_module(with_functions(kFibonacci, kCallFibonacci), {{1, 1, 1}, {12, 1, 1}});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  const std::uint32_t expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(ran.at<std::uint32_t>(i), expected[i]) << i;
}

// Each depth has an array of its own, to which the deeper calls have pointers.
constexpr const char* kSum = R"(
.func (.param .b32 result) sum(.param .b64 list, .param .b32 n) {
  .local .align 4 .b8 own[8];
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [list];
  ld.param.u32 %r1, [n];
  ld.u32 %r2, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  mov.u32 %r3, 0;
  @%p1 bra end;
  mov.u64 %rd2, own;
  cvta.local.u64 %rd2, %rd2;
  st.local.u32 [own], %r1;
  add.s32 %r1, %r1, -1;
  { .param .b64 a; .param .b32 b; .param .b32 got;
    st.param.b64 [a], %rd2; st.param.b32 [b], %r1;
    call.uni (got), sum, (a, b);
    ld.param.b32 %r3, [got]; }
  ld.local.u32 %r4, [own];
  mad.lo.u32 %r3, %r4, 100, %r3;
end:
  add.u32 %r3, %r3, %r2;
  st.param.b32 [result], %r3;
  ret;
}
)";

TEST(PtxCalls, EachDepthHasItsOwnVariables) {
  const testing::Ran ran = testing::run_module(with_functions(
      kSum,
      ".local .align 4 .b8 first[4]; mov.u64 %rd2, first; cvta.local.u64 %rd2, %rd2;\n"
      "mov.u32 %r2, 7; st.local.u32 [first], %r2; mov.u32 %r3, 3;\n"
      "{ .param .b64 a; .param .b32 b; .param .b32 got; st.param.b64 [a], %rd2;\n"
      "  st.param.b32 [b], %r3; call.uni (got), sum, (a, b); ld.param.b32 %r1, [got]; }\n"));
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  EXPECT_EQ(ran.at<std::uint32_t>(0), 7U + 3 + 2 + 1 + 100 * (3 + 2 + 1));
}

constexpr const char* kTwo = R"(
.func (.param .b32 result) twice(.param .b32 n) {
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [n]; add.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret;
}
.func (.param .b32 result) square(.param .b32 n) {
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [n]; mul.lo.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret;
}
)";

std::string call_by(const std::string& register_name) {
  return "{ .param .b32 given; .param .b32 got; st.param.b32 [given], %r0;\n"
         "  prototype: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
         "  call (got), " +
         register_name + ", (given), prototype; ld.param.b32 %r1, [got]; }\n";
}

TEST(PtxCalls, ThreadsCallDifferentFunctionsByAddress) {
  const testing::Ran ran = testing::run_module(
      with_functions(kTwo,
                     "mov.u64 %rd2, twice; mov.u64 %rd3, square; setp.gt.u32 %p1, %r0, 3;\n"
                     "selp.b64 %rd2, %rd2, %rd3, %p1;\n" +
                         call_by("%rd2")),
      {{1, 1, 1}, {6, 1, 1}});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  const std::uint32_t expected[] = {0, 1, 4, 9, 8, 10};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(ran.at<std::uint32_t>(i), expected[i]) << i;
}

TEST(PtxCalls, ACallOfAnAddressWithoutAFunctionIsAFault) {
  const testing::Ran ran =
      testing::run_module(with_functions(kTwo, "mov.u64 %rd2, 0;\n" + call_by("%rd2")));
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.fault.code, CUDA_ERROR_INVALID_PC);
}

TEST(PtxCalls, CallsWithoutAnEndOverflowTheStack) {
  const testing::Ran ran = testing::run_module(
      with_functions(".func endless() { .local .b32 own[64]; .reg .b32 %r<2>; st.local.u32 [own], "
                     "%r1; call.uni endless; ret; }\n",
                     "call.uni endless; mov.u32 %r1, 0;\n"),
      {}, 1 << 26);
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.fault.code, CUDA_ERROR_HARDWARE_STACK_ERROR);
}

TEST(PtxCalls, TablesHoldAddressesOfFunctions) {
  DeviceCode code;
  const std::string text = std::string(".version 8.3\n.target sm_90\n.address_size 64\n") + kTwo +
                           ".global .align 8 .u64 table[3] = {0, twice, square};\n";
  ASSERT_EQ(read_ptx(text, code, nullptr), CUDA_SUCCESS) << code.error;
  ASSERT_EQ(code.variables.size(), 1U);
  std::uint64_t addresses[3] = {};
  ASSERT_EQ(code.variables[0].contents.size(), sizeof addresses);
  std::memcpy(addresses, code.variables[0].contents.data(), sizeof addresses);
  EXPECT_EQ(addresses[0], 0U);
  EXPECT_EQ(addresses[1], code.ptx->address_of("twice"));
  EXPECT_EQ(addresses[2], code.ptx->address_of("square"));
  EXPECT_NE(addresses[1], addresses[2]);
}

}  // namespace
}  // namespace cuvmm::kernels
