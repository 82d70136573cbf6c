// SPDX-License-Identifier: Apache-2.0
// The texts that a driver refuses, with its codes: what an H100 answered with driver 580.159.04.
#include "kernels/check/check.h"

#include <gtest/gtest.h>

#include "kernels/text/parser.h"

namespace cuvmm::kernels {
namespace {

constexpr Compiler kHopperCompiler{90, 900};

Verdict verdict_on(const std::string& text, const Compiler& compiler = kHopperCompiler) {
  Error error;
  const auto module = parse(text, error);
  if (!module) return {CUDA_ERROR_INVALID_PTX, error};
  return check(*module, compiler);
}

std::string with(const std::string& version, const std::string& target, const std::string& rest) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n" + rest;
}

std::string body(const std::string& statements) {
  return with("8.0", "sm_80", ".visible .entry e(.param .u64 p)\n{\n" + statements + "\nret;\n}\n");
}

void expect_refused(const std::string& text, const std::string& why) {
  const Verdict verdict = verdict_on(text);
  EXPECT_EQ(verdict.code, CUDA_ERROR_INVALID_PTX) << text;
  EXPECT_NE(verdict.why.message.find(why), std::string::npos) << text << verdict.why.message;
}

void expect_good(const std::string& text) {
  const Verdict verdict = verdict_on(text);
  EXPECT_EQ(verdict.code, CUDA_SUCCESS) << text << verdict.why.text();
}

constexpr const char* kEntry = ".visible .entry e() { ret; }\n";

TEST(PtxCheck, TheVersionIsOneThatTheDriverReads) {
  const Verdict verdict = verdict_on(with("99.0", "sm_80", kEntry));
  EXPECT_EQ(verdict.code, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_NE(verdict.why.message.find("99.0"), std::string::npos) << verdict.why.message;
  EXPECT_EQ(verdict_on(with("9.1", "sm_80", kEntry)).code, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(verdict_on(with("9.1", "sm_80", kEntry), {90, 0}).code, CUDA_SUCCESS);
  expect_good(with("9.0", "sm_90", kEntry));
  expect_good(".version 1.4\n.target sm_10\n.entry e() { ret; }\n");
  expect_refused(with("new", "sm_80", kEntry), "version");
}

TEST(PtxCheck, TheTargetIsOneThatTheDeviceRuns) {
  for (const char* good : {"sm_30", "sm_80", "sm_90", "sm_90a", "sm_80, debug"}) {
    expect_good(with("8.0", good, kEntry));
  }
  for (const char* bad : {"sm_999", "sm_100", "sm_100a", "sm_91", "sm_", "computer_80"}) {
    expect_refused(with("8.6", bad, kEntry), "`" + std::string(bad) + "`");
  }
  expect_good(with("8.0", "compute_80", kEntry));
  expect_refused(with("7.7", "sm_90", kEntry), "`sm_90` is not known to PTX 7.7");
  expect_refused(with("6.0", "sm_80", kEntry), "`sm_80`");
  EXPECT_EQ(verdict_on(with("8.6", "sm_90a", kEntry), {100, 0}).code, CUDA_ERROR_INVALID_PTX)
      << "code for one architecture alone";
  EXPECT_EQ(verdict_on(with("8.0", "sm_80", kEntry), {70, 0}).code, CUDA_ERROR_INVALID_PTX);
  expect_refused(".version 8.0\n.target sm_80\n.address_size 32\n" + std::string(kEntry),
                 "64 bits");
}

TEST(PtxCheck, ANameIsDefinedOnce) {
  expect_refused(with("8.0", "sm_80", std::string(kEntry) + kEntry), "`e` is defined twice");
  expect_refused(with("8.0", "sm_80", ".global .u32 x; .global .u32 x;\n"), "`x` is defined twice");
  expect_refused(with("8.0", "sm_80", ".global .u32 e;\n" + std::string(kEntry)), "`e`");
  expect_good(with("8.0", "sm_80", ".extern .global .u32 x;\n.global .u32 x;\n"));
  expect_good(with("8.0", "sm_80", ".func f();\n.func f() { ret; }\n"));
  expect_refused(body(".reg .b32 %r<2>; .reg .b32 %r<2>;"), "`%r` is declared twice");
  expect_refused(body("L: L: mov.u32 %tid.x, 0;"), "`L` is defined twice");
  expect_good(body(".reg .b32 %r; { .reg .b32 %r; mov.b32 %r, 0; L: } { L: }"));
  expect_refused(body(".reg .b32 p; mov.b32 p, 0;"), "`p` is declared twice");
}

TEST(PtxCheck, EveryNameIsDeclared) {
  expect_refused(body("mov.u32 %r9, 1;"), "`%r9` is not declared");
  expect_refused(body(".reg .b32 %r<9>; mov.u32 %r9, 1;"), "`%r9` is not declared");
  expect_refused(body(".reg .b32 %r; mov.u32 %r, %tix.x;"), "`%tix.x`");
  expect_refused(body("@%p bra L; L:"), "`%p` is not declared");
  expect_refused(body("bra NOWHERE;"), "no label `NOWHERE`");
  expect_refused(body("call nosuch;"), "no function `nosuch`");
  const std::string declared = ".extern .func nosuch;\n.visible .entry e() { call nosuch; ret; }\n";
  expect_refused(with("8.0", "sm_80", declared), "`nosuch` has no body");
  EXPECT_EQ(verdict_on(with("8.0", "sm_80", declared), {90, 900, true}).code, CUDA_SUCCESS)
      << "a linker may find it";
  expect_good(with("8.0", "sm_80",
                   ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                   ".visible .entry e() { { .param .b64 x; .param .b64 y; .param .b32 z;\n"
                   "call (z), vprintf, (x, y); } ret; }\n"));
  expect_good(with("8.0", "sm_80",
                   ".extern .global .u32 ext;\n.visible .entry e() { .reg .b32 %r; "
                   "ld.global.u32 %r, [ext]; st.global.u32 [ext], %r; ret; }\n"));
  expect_good(
      body(".reg .b32 %r<3>; .reg .b64 %l; mov.u32 %r0, %clock; mov.u64 %l, %clock64; "
           "mov.u32 %r1, %envreg3; mov.u32 %r2, WARP_SZ; L: bra.uni L;"));
}

TEST(PtxCheck, RegistersHaveTheTypesOfTheirInstructions) {
  const std::string registers =
      ".reg .b16 %h; .reg .b32 %r; .reg .u32 %u; .reg .s32 %s; .reg .b64 %l; .reg .f32 %f; "
      ".reg .f64 %d; .reg .pred %p; ";
  for (const char* bad : {"add.u32 %l, %l, 1;",
                          "add.u64 %r, %r, 1;",
                          "add.f32 %u, %f, %f;",
                          "add.u32 %f, %u, %u;",
                          "add.f64 %f, %f, %f;",
                          "setp.eq.u32 %r, %u, %u;",
                          "setp.eq.u32 %p, %l, %l;",
                          "selp.b32 %r, %u, %u, %u;",
                          "mul.wide.u32 %r, %u, %u;",
                          "mad.lo.u32 %r, %r, %l, %r;",
                          "mov.u32 %l, %r;",
                          "shl.b64 %l, %l, %l;",
                          "cvt.u64.u32 %r, %r;",
                          "ld.global.u64 %r, [%l];",
                          "st.global.u32 [%l], %p;",
                          "st.global.u64 [%l], %r;",
                          "@%r bra L; L:",
                          "and.b32 %p, %p, %p;",
                          "cvt.u32.u8 %h, %r;",
                          "popc.b64 %l, %l;",
                          "mov.u32 %f, %r;",
                          "mov.f32 %u, %f;",
                          "selp.u32 %f, %f, %f, %p;",
                          "ld.global.f32 %u, [%l];",
                          "ld.global.u32 %f, [%l];",
                          "st.global.u32 [%l], %f;",
                          "st.global.f32 [%l], %u;",
                          ".reg .u16 %w; fma.rn.f16 %h, %w, %h, %h;"}) {
    EXPECT_EQ(verdict_on(body(registers + bad)).code, CUDA_ERROR_INVALID_PTX) << bad;
  }
  for (const char* good : {"add.u32 %s, %u, %r;",
                           "add.f32 %r, %f, %r;",
                           "add.u16 %h, %h, 1;",
                           "fma.rn.f16 %h, %h, %h, %h;",
                           "mul.wide.u32 %l, %u, %s;",
                           "mad.wide.s32 %l, %s, %s, %l;",
                           "shl.b64 %l, %l, %r;",
                           "cvt.u16.u8 %h, %r;",
                           "cvt.u32.u8 %r, %h;",
                           "ld.global.u8 %l, [%l];",
                           "st.global.u8 [%l], %r;",
                           "mov.b32 %f, %r;",
                           "mov.b64 {%r, %u}, %l;",
                           "mov.b64 %l, {%r, %f};",
                           "not.pred %p, %p;",
                           "st.global.u64 [%l], %l+1;",
                           ".reg .v2 .b32 v; mov.b64 %l, v; mov.b32 %r, v.y; ld.v2.u32 v, [%l];",
                           "setp.lt.and.f32 %p|_, %f, 0f00000000, !%p;",
                           "selp.f64 %d, %d, %d, %p;",
                           "popc.b64 %r, %l;",
                           "slct.f32.s32 %f, %f, %f, %s;",
                           "set.lt.u32.f64 %u, %d, %d;",
                           "ld.global.v2.f32 {%f, _}, [%l];",
                           "cvt.rn.f16x2.f32 %r, %f, %f;",
                           "add.cc.u32 %r, %r, %u;",
                           "frob.u32 %l, %r;",
                           "mov.u64 %l, e;",
                           "bfe.u64 %l, %l, %r, %u;",
                           "bfind.u64 %r, %l;",
                           "atom.global.add.u32 %r, [%l], 1;"}) {
    expect_good(body(registers + good));
  }
}

TEST(PtxCheck, TheTargetHasTheInstruction) {
  const std::string wgmma = ".visible .entry e() { wgmma.fence.sync.aligned; ret; }\n";
  expect_refused(with("8.0", "sm_80", wgmma), "`wgmma` is not for the target `sm_80`");
  expect_refused(with("8.0", "sm_90", wgmma), "`wgmma`");
  expect_good(with("8.0", "sm_90a", wgmma));
  const std::string redux =
      ".visible .entry e() { .reg .b32 %r; redux.sync.add.u32 %r, %r, -1; ret; }\n";
  expect_refused(with("8.0", "sm_75", redux), "`redux`");
  expect_good(with("8.0", "sm_80", redux));
}

}  // namespace
}  // namespace cuvmm::kernels
