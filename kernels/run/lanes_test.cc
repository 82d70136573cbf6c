// SPDX-License-Identifier: Apache-2.0
// Instructions of some lanes of a warp, and accesses of many lanes at once.
#include "kernels/run/lanes.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

using testing::run_body;

Shape warp() {
  Shape shape;
  shape.block[0] = kLanes;
  return shape;
}

constexpr Mask kMasks[] = {kAll,       1,          0x80000000, 0x0000ffff,
                           0xffff0000, 0x7ffffffe, 0x55555555, 0x00ff00f0};

TEST(Lanes, AResultIsPutWhereTheMaskIs) {
  for (const Mask m : kMasks) {
    std::uint64_t out[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = ~std::uint64_t{lane};
    each_result(out, m, [](unsigned lane) { return std::uint64_t{lane} * 3; });
    for (unsigned lane = 0; lane < kLanes; ++lane)
      EXPECT_EQ(out[lane], is_set(m, lane) ? lane * 3 : ~std::uint64_t{lane}) << m;
    EXPECT_EQ(lanes_where(m, [](unsigned lane) { return lane % 3 == 0; }), m & 0x49249249) << m;
  }
}

// p1: the lanes of the mask.
std::string in_mask(Mask m, const std::string& body) {
  return "mov.u32 %r0, %laneid;\nmov.u32 %r1, " + std::to_string(m) +
         ";\nshr.u32 %r1, %r1, %r0;\nand.b32 %r1, %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n" + body;
}

struct Step {
  const char* name;
  const char* index;  ///< computes %r2 from the lane %r0: the number of an element
  unsigned (*of)(unsigned lane);
};
const Step kSteps[] = {
    {"neighbours", "mov.u32 %r2, %r0;", [](unsigned lane) { return lane; }},
    {"equal", "mov.u32 %r2, 5;", [](unsigned) { return 5U; }},
    {"backwards", "sub.u32 %r2, 31, %r0;", [](unsigned lane) { return 31 - lane; }},
    {"rows", "and.b32 %r2, %r0, 15;", [](unsigned lane) { return lane & 15; }},
    {"far", "mul.lo.u32 %r2, %r0, 100;", [](unsigned lane) { return lane * 100; }},
};

// Element k of global or shared memory holds 7 k + 1.
TEST(Lanes, LoadsAreThoseOfTheMask) {
  for (const bool shared : {false, true}) {
    for (const Step& step : kSteps) {
      for (const Mask m : kMasks) {
        const std::string space = shared ? "shared" : "global", base = shared ? "0" : "%rd0";
        const std::string fill =
            "mov.u32 %r3, 0;\nloop: mad.lo.u32 %r4, %r3, 7, 1;\n"
            "mul.wide.u32 %rd1, %r3, 4;\n" +
            (shared ? std::string() : std::string("add.u64 %rd1, %rd1, %rd0;\n")) + "st." + space +
            ".u32 [%rd1], %r4;\nadd.u32 %r3, %r3, 1;\n"
            "setp.lt.u32 %p2, %r3, 3200;\n@%p2 bra loop;\n";
        const std::string load = "mov.u32 %r5, 9;\n" + std::string(step.index) +
                                 "\nmul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %rd1, " + base +
                                 ";\n@%p1 ld." + space + ".u32 %r5, [%rd1];\n";
        const std::string put =
            "mul.wide.u32 %rd2, %r0, 4;\nadd.u64 %rd2, %rd2, %rd0;\n"
            "st.global.u32 [%rd2+40000], %r5;\n";
        const auto ran =
            testing::run_module(testing::module_of(".shared .align 16 .b8 room[12800];\n" +
                                                   in_mask(m, fill + load + put)),
                                warp(), 1 << 22);
        ASSERT_EQ(ran.error, "");
        ASSERT_FALSE(ran.fault) << ran.fault.what;
        for (unsigned lane = 0; lane < kLanes; ++lane)
          EXPECT_EQ(ran.at<std::uint32_t>(10000 + lane),
                    is_set(m, lane) ? 7 * step.of(lane) + 1 : 9)
              << space << " " << step.name << " " << m << " lane " << lane;
      }
    }
  }
}

TEST(Lanes, StoresAreThoseOfTheMask) {
  for (const Step& step : kSteps) {
    for (const Mask m : kMasks) {
      const auto ran = run_body(
          in_mask(m, std::string(step.index) + "\nmul.wide.u32 %rd1, %r2, 8;\n"
                                               "add.u64 %rd1, %rd1, %rd0;\nadd.u32 %r3, %r0, 1;\n"
                                               "@%p1 st.global.v2.u32 [%rd1], {%r3, 77};\n"),
          warp());
      ASSERT_FALSE(ran.fault) << ran.fault.what;
      for (unsigned element = 0; element < 3200; ++element) {
        unsigned last = 0;  // the last lane's value stays
        for (unsigned lane = 0; lane < kLanes; ++lane)
          if (is_set(m, lane) && step.of(lane) == element) last = lane + 1;
        EXPECT_EQ(ran.at<std::uint32_t>(element * 2), last) << step.name << m;
        EXPECT_EQ(ran.at<std::uint32_t>(element * 2 + 1), last ? 77 : 0) << step.name << m;
      }
    }
  }
}

// The memory has 65536 bytes, so the lanes from 16 on would be outside.
TEST(Lanes, LanesOutsideOfTheMaskAccessNothing) {
  const std::string body =
      "mul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd1, %rd1, %rd0;\n"
      "@%p1 ld.global.u32 %r5, [%rd1+65472];\n@%p1 st.global.u32 [%rd1+65472], %r0;\n";
  const auto ran = run_body(in_mask(0x0000ffff, body), warp());
  EXPECT_FALSE(ran.fault) << ran.fault.what;
  EXPECT_EQ(ran.at<std::uint32_t>(16383), 15U);
  const auto fails = run_body(in_mask(0x0001ffff, body), warp());
  EXPECT_EQ(fails.fault.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(fails.fault.thread[0], 16U);
}

TEST(Lanes, AClockGrowsBetweenTwoReads) {
  const auto ran = run_body(
      "mov.u32 %r1, %clock;\nadd.u32 %r3, %r3, 1;\nmov.u32 %r2, %clock;\n"
      "sub.u32 %r2, %r2, %r1;\nst.global.u32 [%rd0], %r2;\n");
  EXPECT_GT(ran.at<std::uint32_t>(0), 0U);
}

// Branches in branches: lanes leave a loop one after the other, and meet behind it.
TEST(Lanes, BranchesInBranchesMeet) {
  const auto ran = run_body(
      "mov.u32 %r0, %laneid;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
      "outer: and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 1;\n@%p1 bra odd;\n"
      "setp.gt.u32 %p2, %r0, 20;\n@%p2 bra high;\nadd.u32 %r2, %r2, 1;\nbra meet;\n"
      "high: add.u32 %r2, %r2, 100;\nbra meet;\n"
      "odd: and.b32 %r4, %r0, 1;\nsetp.ne.u32 %p3, %r4, 0;\n@%p3 add.u32 %r2, %r2, 10000;\n"
      "meet: add.u32 %r1, %r1, 1;\nsetp.le.u32 %p4, %r1, %r0;\n@%p4 bra outer;\n"
      "activemask.b32 %r5;\nmul.wide.u32 %rd1, %r0, 8;\nadd.u64 %rd1, %rd1, %rd0;\n"
      "st.global.v2.u32 [%rd1], {%r2, %r5};\n",
      warp());
  ASSERT_EQ(ran.error, "");
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned sum = 0;
    for (unsigned round = 0; round <= lane; ++round)
      sum += round % 2 == 1 ? lane % 2 * 10000 : lane > 20 ? 100 : 1;
    EXPECT_EQ(ran.at<std::uint32_t>(lane * 2), sum) << lane;
    EXPECT_EQ(ran.at<std::uint32_t>(lane * 2 + 1), kAll) << lane;
  }
}

}  // namespace
}  // namespace cuvmm::kernels
