// SPDX-License-Identifier: Apache-2.0
// Single instructions: the result of each for its operands.
#include <gtest/gtest.h>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

using testing::Ran;
using testing::run_body;

struct Case {
  const char* body;  ///< writes its result to %rd1, or to %r1 if the body writes that
  std::uint64_t expected;
};

std::uint64_t result_of(const std::string& body) {
  const bool wide = body.find("%rd1,") != body.npos;
  const Ran ran =
      run_body(body + (wide ? " st.global.u64 [%rd0], %rd1;" : " st.global.u32 [%rd0], %r1;"));
  EXPECT_EQ(ran.error, "") << body;
  EXPECT_EQ(ran.fault.what, "") << body;
  if (ran.memory.empty()) return ~std::uint64_t{0};
  return wide ? ran.at<std::uint64_t>(0) : ran.at<std::uint32_t>(0);
}

void expect_all(std::initializer_list<Case> cases) {
  for (const Case& each : cases) EXPECT_EQ(result_of(each.body), each.expected) << each.body;
}

TEST(PtxInstruction, Integers) {
  expect_all({
      {"add.s32 %r1, -1, 3;", 2},
      {"sub.u32 %r1, 1, 2;", 0xffffffff},
      {"add.sat.s32 %r1, 0x7fffffff, 1;", 0x7fffffff},
      {"mul.hi.u32 %r1, 0x80000000, 6;", 3},
      {"mul.hi.s64 %rd1, -1, 5;", ~0ull},
      {"mul.wide.s32 %rd1, -2, 3;", static_cast<std::uint64_t>(-6)},
      {"mul.wide.u16 %r1, 65535, 65535;", 65535u * 65535u},
      {"mad.lo.s32 %r1, 3, 4, -5;", 7},
      {"mad.wide.u32 %rd1, 0xffffffff, 2, 1;", 0x1ffffffffull},
      {"div.s32 %r1, -7, 2;", static_cast<std::uint32_t>(-3)},
      {"rem.s32 %r1, -7, 2;", static_cast<std::uint32_t>(-1)},
      {"div.s32 %r1, 0x80000000, -1;", 0x80000000},
      {"div.u32 %r1, 5, 0;", 0xffffffff},
      {"min.s32 %r1, -1, 1;", 0xffffffff},
      {"max.u32 %r1, -1, 1;", 0xffffffff},
      {"abs.s32 %r1, -9;", 9},
      {"neg.s32 %r1, 9;", static_cast<std::uint32_t>(-9)},
      {"sad.s32 %r1, 3, 10, 1;", 8},
      {"mul24.lo.u32 %r1, 0x1000002, 3;", 6},
      {"dp4a.s32.s32 %r1, 0x01ff0203, 0x01010101, 10;", 1 - 1 + 2 + 3 + 10},
      {"add.cc.u32 %r2, -1, 1; addc.u32 %r1, 5, 5;", 11},
      {"sub.cc.u32 %r2, 0, 1; subc.u32 %r1, 5, 1;", 3},
      {"mad.lo.cc.u32 %r2, -1, -1, -1; madc.hi.u32 %r1, -1, -1, 0;", 0xfffffffe + 1},
  });
}

TEST(PtxInstruction, Bits) {
  expect_all({
      {"shl.b32 %r1, 1, 32;", 0},
      {"shr.s32 %r1, -8, 40;", 0xffffffff},
      {"shr.u32 %r1, -8, 28;", 15},
      {"shf.l.wrap.b32 %r1, 0x80000000, 1, 33;", 3},
      {"shf.r.clamp.b32 %r1, 7, 9, 32;", 9},
      {"and.b64 %rd1, 0xff00ff00ff, 0x0f0f0f0f0f;", 0x0f000f000f},
      {"not.b32 %r1, 0;", 0xffffffff},
      {"cnot.b32 %r1, 5;", 0},
      {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x80;", 0xf0 & 0xcc & 0xaa},
      {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x96;", 0xf0 ^ 0xcc ^ 0xaa},
      {"prmt.b32 %r1, 0x33221100, 0x77665544, 0x7054;", 0x77005544},
      {"prmt.b32 %r1, 0x80, 0, 0x8888;", 0xffffffff},
      {"prmt.b32.f4e %r1, 0x33221100, 0x77665544, 1;", 0x44332211},
      {"bfe.u32 %r1, 0x12345678, 8, 8;", 0x56},
      {"bfe.s32 %r1, 0x0000f000, 12, 4;", 0xffffffff},
      {"bfi.b32 %r1, 0xff, 0x12345678, 8, 4;", 0x12345f78},
      {"brev.b32 %r1, 1;", 0x80000000},
      {"clz.b64 %r1, 1;", 63},
      {"popc.b32 %r1, 0xff00ff;", 16},
      {"bfind.u32 %r1, 0x100;", 8},
      {"bfind.s32 %r1, -1;", 0xffffffff},
      {"bfind.shiftamt.u32 %r1, 0x100;", 23},
      {"mov.b64 %rd1, {1, 2};", 0x200000001},
      {"mov.b64 {%r2, %r1}, 0x700000005;", 7},
      {"setp.lt.u32 %p1|%p2, 1, 2; selp.u32 %r1, 5, 6, %p2;", 6},
      {"setp.lt.s32 %p1, 1, 2; setp.eq.and.s32 %p2, 1, 1, !%p1; selp.u32 %r1, 5, 6, %p2;", 6},
      {"set.gt.u32.s32 %r1, 1, 0;", 0xffffffff},
      {"slct.u32.s32 %r1, 3, 4, -1;", 4},
  });
}

TEST(PtxInstruction, FloatingPoint) {
  expect_all({
      {"add.f32 %f1, 0f3F800000, 0f40000000; mov.b32 %r1, %f1;", 0x40400000},
      {"add.rz.f32 %f1, 0f3F800000, 0f33FFFFFF; mov.b32 %r1, %f1;", 0x3f800000},
      {"add.rp.f32 %f1, 0f3F800000, 0f00000001; mov.b32 %r1, %f1;", 0x3f800001},
      {"mul.ftz.f32 %f1, 0f00800000, 0f3F000000; mov.b32 %r1, %f1;", 0},
      {"mul.f32 %f1, 0f00800000, 0f3F000000; mov.b32 %r1, %f1;", 0x00400000},
      {"fma.rn.f32 %f1, 0f40000000, 0f40400000, 0f3F800000; mov.b32 %r1, %f1;", 0x40e00000},
      {"add.sat.f32 %f1, 0f3F800000, 0f40000000; mov.b32 %r1, %f1;", 0x3f800000},
      {"min.f32 %f1, 0f7FC00000, 0f40000000; mov.b32 %r1, %f1;", 0x40000000},
      {"max.NaN.f32 %f1, 0f7FC00000, 0f40000000; mov.b32 %r1, %f1;", 0x7fffffff},
      {"min.f32 %f1, 0f80000000, 0f00000000; mov.b32 %r1, %f1;", 0x80000000},
      {"sqrt.rn.f32 %f1, 0f40800000; mov.b32 %r1, %f1;", 0x40000000},
      {"ex2.approx.f32 %f1, 0f40400000; mov.b32 %r1, %f1;", 0x41000000},
      {"rcp.rn.f64 %fd1, 4.0; mov.b64 %rd1, %fd1;", 0x3fd0000000000000},
      {"neg.f64 %fd1, 0d3FF0000000000000; mov.b64 %rd1, %fd1;", 0xbff0000000000000},
      {"add.f16 %h1, 0x3c00, 0x4000; cvt.u32.u16 %r1, %h1;", 0x4200},
      {"fma.rn.f16x2 %r1, 0x3c004000, 0x40004000, 0x3c003c00;", 0x42004500},
      {"add.rn.bf16 %h1, 0x3f80, 0x4000; cvt.u32.u16 %r1, %h1;", 0x4040},
      {"setp.gtu.f32 %p1, 0f7FC00000, 0f00000000; selp.u32 %r1, 1, 0, %p1;", 1},
      {"setp.ne.f32 %p1, 0f7FC00000, 0f00000000; selp.u32 %r1, 1, 0, %p1;", 0},
      {"testp.infinite.f32 %p1, 0fFF800000; selp.u32 %r1, 1, 0, %p1;", 1},
      {"copysign.f32 %f1, 0f80000000, 0f3F800000; mov.b32 %r1, %f1;", 0xbf800000},
  });
}

TEST(PtxInstruction, Conversions) {
  expect_all({
      {"cvt.s64.s8 %rd1, 0x80;", static_cast<std::uint64_t>(-128)},
      {"cvt.u32.u8 %r1, 0x1ff;", 0xff},
      {"cvt.sat.u8.s32 %r1, -5;", 0},
      {"cvt.sat.s16.s32 %r1, 70000; and.b32 %r1, %r1, 0xffff;", 32767},
      {"cvt.rn.f32.s32 %f1, 16777217; mov.b32 %r1, %f1;", 0x4b800000},
      {"cvt.rp.f32.s32 %f1, 16777217; mov.b32 %r1, %f1;", 0x4b800001},
      {"cvt.rzi.s32.f32 %r1, 0fBFC00000;", 0xffffffff},
      {"cvt.rni.s32.f32 %r1, 0f40200000;", 2},
      {"cvt.rmi.s32.f32 %r1, 0fBFC00000;", 0xfffffffe},
      {"cvt.rzi.u32.f32 %r1, 0fBF800000;", 0},
      {"cvt.rzi.s32.f32 %r1, 0f7FC00000;", 0},
      {"cvt.rzi.s32.f32 %r1, 0f7F800000;", 0x7fffffff},
      {"cvt.rn.f32.f64 %f1, 0d3FF0000010000000; mov.b32 %r1, %f1;", 0x3f800000},
      {"cvt.rp.f32.f64 %f1, 0d3FF0000010000000; mov.b32 %r1, %f1;", 0x3f800001},
      {"cvt.f64.f32 %fd1, 0f3F800000; mov.b64 %rd1, %fd1;", 0x3ff0000000000000},
      {"cvt.rn.f16.f32 %h1, 0f477FF000; cvt.u32.u16 %r1, %h1;", 0x7c00},
      {"cvt.rz.f16.f32 %h1, 0f477FF000; cvt.u32.u16 %r1, %h1;", 0x7bff},
      {"cvt.rn.f16.f32 %h1, 0f33800000; cvt.u32.u16 %r1, %h1;", 1},
      {"cvt.f32.f16 %f1, 1; mov.b32 %r1, %f1;", 0x33800000},
      {"cvt.rn.f16x2.f32 %r1, 0f3F800000, 0f40000000;", 0x3c004000},
      {"cvt.rn.bf16x2.f32 %r1, 0f3F808000, 0f3F818000;", 0x3f803f82},
      {"cvt.rni.f32.f32 %f1, 0f40200000; mov.b32 %r1, %f1;", 0x40000000},
      {"cvt.sat.f32.f32 %f1, 0fC0000000; mov.b32 %r1, %f1;", 0},
  });
}

TEST(PtxInstruction, Memory) {
  expect_all({
      {"st.global.u8 [%rd0+8], 0x80; ld.global.s8 %r1, [%rd0+8];", 0xffffff80},
      {"st.global.v4.u16 [%rd0+8], {1, 2, 3, 4}; ld.global.u64 %rd1, [%rd0+8];",
       0x0004000300020001},
      {".shared .align 8 .b8 s[16]; st.shared.u32 [s+4], 7; mov.u64 %rd2, s; "
       "cvta.shared.u64 %rd3, %rd2; ld.u32 %r1, [%rd3+4];",
       7},
      {".local .align 8 .b8 l[16]; st.local.u32 [l+4], 8; mov.u64 %rd2, l; "
       "cvta.local.u64 %rd3, %rd2; isspacep.local %p1, %rd3; @%p1 ld.u32 %r1, [%rd3+4];",
       8},
      {"mov.u64 %rd2, to; cvta.param.u64 %rd2, %rd2; ld.u64 %rd1, [%rd2];", 0x10000},
      {"atom.global.add.u32 %r2, [%rd0+8], 5; atom.global.add.u32 %r1, [%rd0+8], 5;", 5},
      {"atom.add.f32 %f1, [%rd0+8], 0f3F800000; ld.global.u32 %r1, [%rd0+8];", 0x3f800000},
      {"atom.global.add.v2.f32 {%f2, %f3}, [%rd0+8], {0f40000000, 0f40400000}; "
       "red.relaxed.gpu.global.add.v2.f32 [%rd0+8], {%f2, 0f40000000}; ld.global.u32 %r1, "
       "[%rd0+12];",
       0x40a00000},
      {"st.global.u32 [%rd0+8], 0x3f800000; atom.global.add.v2.f32 {%f2, %f3}, [%rd0+8], "
       "{0f40000000, 0f40400000}; mov.b32 %r1, %f2;",
       0x3f800000},
      {"createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0; st.global.L2::cache_hint.u32 "
       "[%rd0+8], 7, %rd5; ld.global.L1::no_allocate.L2::cache_hint.u32 %r1, [%rd0+8], %rd5;",
       7},
      {"atom.add.f32 %f1, [%rd0+8], 0f00000001; ld.global.u32 %r1, [%rd0+8];", 0},
      {".shared .b32 s; st.shared.u32 [s], 1; atom.shared.add.f32 %f1, [s], 0f00000001; "
       "mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; red.add.f32 [%rd2], 0f00000001; "
       "ld.shared.u32 %r1, [s];",
       3},
      {"red.global.add.f32 [%rd0+8], 0fFFC00001; ld.global.u32 %r1, [%rd0+8];", 0x7fffffff},
      {"atom.global.cas.b32 %r2, [%rd0+8], 0, 9; ld.global.u32 %r1, [%rd0+8];", 9},
      {"atom.global.inc.u32 %r2, [%rd0+8], 0; ld.global.u32 %r1, [%rd0+8];", 0},
      {"red.global.min.s32 [%rd0+8], -3; ld.global.u32 %r1, [%rd0+8];", 0xfffffffd},
      {"red.relaxed.gpu.global.or.b64 [%rd0+8], 6; ld.volatile.global.u64 %rd1, [%rd0+8];", 6},
  });
}

TEST(PtxInstruction, WhatIsNotKnownIsNamed) {
  for (const char* body : {"frob.u32 %r1, 1;",
                           "add.frob.u32 %r1, 1, 2;",
                           "add.u32 %r1, 1;",
                           "add.u32 %r99, 1, 2;",
                           "mov.u32 %r1, %nothing;",
                           "bra nowhere;",
                           "ld.global.u32 %r1, %rd0;",
                           "add.u32 %p1, 1, 2;",
                           "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1, %r2}];",
                           "mov.b128 %rd1, %rd2;",
                           "setp.frob.u32 %p1, 1, 2;",
                           "@%r1 mov.u32 %r1, 1;",
                           "call nothing, (%r1);",
                           "ld.global.v2.u32 %r1, [%rd0];",
                           "shfl.sync.frob.b32 %r1, 1, 2, 3, 4;",
                           "mov.f32 %f1, %f2+1;",
                           "mov.u32 %r1+4, 5;",
                           "mov.u32 %r1, %tid.x+1;",
                           "add.rz.f16 %h1, %h2, %h3;",
                           "add.sat.u32 %r1, %r2, %r3;",
                           "fma.rn.sat.bf16 %h1, %h1, %h1, %h1;",
                           "cvt.rn.s32.f32 %r1, %f1;",
                           "cvt.rni.s32.u32 %r1, %r2;",
                           "add.sat.f64 %fd1, %fd1, %fd1;",
                           "min.sat.f32 %f1, %f1, %f1;",
                           "bfe.b32 %r1, %r2, 1, 2;",
                           "mul24.u32 %r1, %r2, %r3;",
                           "lg2.approx.f64 %fd1, %fd2;",
                           "szext.u32 %r1, %r2, %r3;",
                           "vadd.u32.u32 %r1, %r2, %r3;",
                           "vadd2.s32.s32.s32.add %r1, %r2, %r3, 0;",
                           "vadd4.u32.u32.u32 %r1.b0, %r2, %r3, 0;",
                           "cvt.pack.u8.s32.b32 %r1, %r2, %r3, 0;",
                           "cp.async.ca.shared.global [%r1], [%rd0], 12;",
                           "div.rn.f16 %h1, %h2, %h3;",
                           "cvt.rn.e4m3x2.f32 %h1, %f1, %f2;",
                           "cvt.rz.satfinite.e4m3x2.f32 %h1, %f1, %f2;"}) {
    const Ran ran = run_body(body);
    EXPECT_NE(ran.error.find("line 14: `"), ran.error.npos) << body << ": " << ran.error;
    EXPECT_TRUE(ran.memory.empty()) << "it must not run: " << body;
  }
}

TEST(PtxInstruction, ARegisterPlusANumberIsASum) {
  expect_all({
      {"mov.u64 %rd2, 41; st.global.u64 [%rd0+8], %rd2+1; ld.global.u64 %rd1, [%rd0+8];", 42},
      {"mov.u32 %r2, 5; sub.u32 %r1, %r2+3, %r2+-1;", 4},
  });
}

TEST(PtxInstruction, RegistersMayBeVectors) {
  expect_all({
      {".reg .v2 .u32 v; mov.u32 v.x, 1; mov.u32 v.y, 2; mov.b64 %rd1, v;", 0x200000001},
      {".reg .v4 .u32 v, w; st.global.v4.u32 [%rd0+16], {1, 2, 3, 4}; ld.global.v4.u32 v, "
       "[%rd0+16]; mov.v4.u32 w, {v.w, v.z, v.g, v.r}; mov.v4.u32 v, w; add.u32 %r1, v.x, v.a; "
       "shl.b32 %r1, %r1, v.z;",
       20},
      {".reg .v2 .b16 h<3>; mov.b32 h1, 0x00050007; mov.v2.b16 h2, h1; mov.u16 h0.x, h2.y; "
       "cvt.u32.u16 %r1, h0.x;",
       5},
      {".reg .v2 .f32 v; ld.global.v2.f32 v, [%rd0+16]; mov.f32 v.y, 0f3F800000; "
       "st.global.v2.f32 [%rd0+24], v; ld.global.u32 %r1, [%rd0+28];",
       0x3f800000},
  });
  const std::string pair =
      ".func (.reg .v2 .u32 out) swapped(.reg .v2 .u32 in)\n"
      "{ mov.v2.u32 out, {in.y, in.x}; ret; }\n";
  const Ran ran = testing::run_module(testing::module_of(
      ".reg .v2 .u32 v; mov.v2.u32 v, {7, 8}; call (v), swapped, (v); st.global.v2.u32 [%rd0], v;",
      pair));
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.at<std::uint64_t>(0), 0x700000008u);
}

// Lane 9 looks at the matrices 0, 1, 2 and so on in shared memory, in rows of 8 halves.
TEST(PtxInstruction, MatricesAreSpreadOverTheLanes) {
  const std::string fill =
      ".shared .align 16 .b16 s[256]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, "
      "16, "
      "%r2; mul.lo.u32 %r4, %r1, 0x00080008; add.u32 %r4, %r4, 0x00010000; st.shared.u32 [%r3], "
      "%r4; add.u32 %r4, %r4, 0x00020002; st.shared.u32 [%r3+4], %r4; add.u32 %r4, %r4, "
      "0x00020002; "
      "st.shared.u32 [%r3+8], %r4; add.u32 %r4, %r4, 0x00020002; st.shared.u32 [%r3+12], %r4; "
      "bar.sync 0; ";
  const std::string store =
      "setp.ne.u32 %p1, %r1, 9; @%p1 exit; st.global.v4.u32 [%rd0], "
      "{%r10, %r11, %r12, %r13};";
  const testing::Ran rows = testing::run_body(
      fill + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];" + store,
      {.block = {32, 1, 1}});
  ASSERT_EQ(rows.error, "");
  EXPECT_EQ(rows.at<unsigned>(0), 0x00130012u) << "row 2, columns 2 and 3";
  EXPECT_EQ(rows.at<unsigned>(3), 0x00d300d2u) << "of the fourth matrix";
  const testing::Ran columns = testing::run_body(
      fill + "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r10, %r11}, [%r3];" + store,
      {.block = {32, 1, 1}});
  ASSERT_EQ(columns.error, "");
  EXPECT_EQ(columns.at<unsigned>(0), 0x001a0012u) << "column 2, rows 2 and 3";
  EXPECT_EQ(columns.at<unsigned>(1), 0x005a0052u);
}

// a[row][k] = row + k and b[k][column] = k - column, as bytes with a sign.
TEST(PtxInstruction, MatricesAreMultiplied) {
  const std::string body =
      "mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3; shl.b32 %r3, %r3, 2; "
      "add.u32 %r4, %r2, %r3; mul.lo.u32 %r4, %r4, 0x01010101; add.u32 %r4, %r4, 0x03020100; "
      "add.u32 %r5, %r4, 0x08080808; sub.u32 %r6, %r3, %r2; and.b32 %r6, %r6, 0xff; "
      "prmt.b32 %r6, %r6, 0, 0; mov.u32 %r7, 0x03020100; vadd4.s32.s32.s32 %r6, %r6, %r7, 0; "
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r10, %r11, %r12, %r13}, {%r4, %r5}, "
      "{%r6}, {%r1, %r1, %r1, %r1}; shl.b32 %r9, %r1, 4; cvt.u64.u32 %rd1, %r9; add.u64 %rd1, "
      "%rd1, %rd0; st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};";
  const testing::Ran ran = testing::run_body(body, {.block = {32, 1, 1}});
  ASSERT_EQ(ran.error, "");
  for (int lane = 0; lane < 32; ++lane) {
    for (int part = 0; part < 4; ++part) {
      const int row = lane / 4 + part / 2 * 8, column = lane % 4 * 2 + part % 2;
      int expected = lane;
      for (int k = 0; k < 16; ++k) expected += (row + k) * (k - column);
      EXPECT_EQ(ran.at<int>(static_cast<std::size_t>(lane * 4 + part)), expected) << lane;
    }
  }
}

TEST(PtxInstruction, HalvesInPairsAreCompared) {
  expect_all({
      {"set.gtu.u32.f16x2 %r1, 0x7e003c00, 0x3c003c00;", 0xffff0000},
      {"set.le.f16x2.f16x2 %r1, 0x7e003c00, 0x3c003c00;", 0x3c00},
      {"setp.lt.f16x2 %p1|%p2, 0x3c00bc00, 0; selp.u32 %r1, 2, 0, %p1; @%p2 add.u32 %r1, %r1, 1;",
       2},
      {"vshr.u32.u32.u32.clamp.add %r1, 0x8e2da590, 16, 0x248a9f70;", 0x248b2d9d},
      {"vshr.s32.s32.u32.wrap %r1, 0x80000000, 36;", 0xf8000000},
      {"vshl.u32.u32.u32.clamp %r1, 1, 40;", 0},
  });
}

// Results that the recording does not have.
TEST(PtxInstruction, Edges) {
  expect_all({
      {"add.sat.f32 %f1, 0f80000000, 0f80000000; mov.b32 %r1, %f1;", 0},
      {"cvt.rm.f64.u64 %fd1, 0; mov.b64 %rd1, %fd1;", 0},
      {"cvt.rni.s64.f32 %rd1, 0f7FC00000;", 0x8000000000000000},
      {"cvt.rni.u64.f16 %rd1, 0x7e00;", 0x8000000000000000},
      {"cvt.rni.u32.f64 %r1, 0d7FF8000000000000;", 0x80000000},
      {"cvt.rni.u32.f32 %r1, 0f7FC00000;", 0},
      {"cvt.rn.bf16.s64 %h1, 0x4040000000000001; cvt.u32.u16 %r1, %h1;", 0x5e81},
      {"cvt.rz.sat.f16.s32 %h1, 7; cvt.u32.u16 %r1, %h1;", 0x3c00},
      {"copysign.f32 %f1, 0f80000000, 0f7F800001; mov.b32 %r1, %f1;", 0xff800001},
      {"fns.b32 %r1, 0xf0, 2, -1;", 0xffffffff},
      {"fns.b32 %r1, 0xf0, 7, -2;", 6},
      {"fns.b32 %r1, 0xf0, 31, 0;", 0xffffffff},
      {"bfe.u64 %rd1, -1, 256, 4;", 0},
      {"bfe.u32 %r1, -1, 256, 4;", 0xf},
      {"cvt.rn.f16x2.e4m3x2 %r1, 0x7f81;", 0x7fff9800},
      {"vabsdiff2.u32.u32.u32.add %r1, 0x7fff8000, 0x80000000, 5;", 0x8006},
      {"isspacep.const %p1, %rd0; selp.u32 %r1, 1, 0, %p1;", 0},
      {"div.approx.f32 %f1, 0fBF800000, 0f7E800000; mov.b32 %r1, %f1;", 0x80800000},
      {"div.approx.f32 %f1, 0fBF800000, 0f7E800001; mov.b32 %r1, %f1;", 0x80000000},
  });
}

TEST(PtxInstruction, ConstantsAreNotToldFromGlobalMemory) {
  const std::string before = ".const .u32 c;\n";
  const std::string body = "isspacep.const %p1, %rd0;";
  EXPECT_NE(testing::run_module(testing::module_of(body, before)).error.find("`isspacep.const`"),
            std::string::npos);
}

TEST(PtxInstruction, FunctionsAreCalled) {
  const std::string before = R"(
.func (.param .b32 out) twice(.param .b32 in)
{
  .reg .b32 %a<3>;
  .reg .pred %q;
  ld.param.u32 %a1, [in];
  setp.eq.u32 %q, %a1, 0;
  @%q bra zero;
  add.u32 %a2, %a1, %a1;
  st.param.u32 [out], %a2;
  ret;
zero:
  st.param.u32 [out], 77;
  ret;
}
)";
  const std::string body = R"(
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 3;
  mov.u32 %r2, 5;
  {
    .param .b32 given;
    .param .b32 got;
    st.param.b32 [given], %r1;
    @%p1 call.uni (got), twice, (given);
    @%p1 ld.param.b32 %r2, [got];
  }
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd1, %rd1, %rd0;
  st.global.u32 [%rd1], %r2;
)";
  const Ran ran = testing::run_module(testing::module_of(body, before), {.block = {4, 1, 1}});
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.at<int>(0), 77);
  EXPECT_EQ(ran.at<int>(1), 2);
  EXPECT_EQ(ran.at<int>(2), 4);
  EXPECT_EQ(ran.at<int>(3), 5) << "its predicate leaves it out";
  const std::string endless = ".func f()\n{\n  call f;\n  ret;\n}\n";
  EXPECT_EQ(testing::run_module(testing::module_of("call f;", endless)).fault.code,
            CUDA_ERROR_HARDWARE_STACK_ERROR);
}

// Two warps: the first waits until the second has arrived. The bytes that a phase expects hold it.
TEST(PtxInstruction, BarriersInSharedMemory) {
  const Ran ran = testing::run_body(R"(
  .shared .align 8 .b64 barrier;
  .shared .align 4 .b32 value;
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [barrier], 33;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p2 bra first;
  setp.ne.u32 %p3, %r1, 32;
  @%p3 ret;
  st.shared.u32 [value], 42;
  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [barrier], 8;
  mbarrier.arrive.release.cta.shared::cta.b64 _, [barrier];
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [barrier], 8;
  ret;
first:
  mbarrier.arrive.shared::cta.b64 %rd2, [barrier];
again:
  mbarrier.try_wait.shared::cta.b64 %p4, [barrier], %rd2;
  @!%p4 bra again;
  mbarrier.test_wait.parity.shared::cta.b64 %p5, [barrier], 0;
  mbarrier.test_wait.parity.shared::cta.b64 %p6, [barrier], 1;
  ld.shared.u32 %r2, [value];
  selp.u32 %r3, 100, 0, %p5;
  selp.u32 %r4, 1000, 0, %p6;
  add.u32 %r2, %r2, %r3;
  add.u32 %r2, %r2, %r4;
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd1, %rd1, %rd0;
  st.global.u32 [%rd1], %r2;)",
                                    {.block = {64, 1, 1}});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(ran.at<int>(i), 142) << i;
}

}  // namespace
}  // namespace cuvmm::kernels
