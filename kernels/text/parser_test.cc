// SPDX-License-Identifier: Apache-2.0
#include "kernels/text/parser.h"

#include <gtest/gtest.h>

#include <bit>

namespace cuvmm::kernels {
namespace {

std::shared_ptr<const Module> read(const std::string& text) {
  Error error;
  auto module = parse(".version 8.3\n.target sm_90, debug\n.address_size 64\n" + text, error);
  EXPECT_EQ(error.text(), Error{}.text()) << text;
  return module;
}

std::string wrong(const std::string& text) {
  Error error;
  EXPECT_EQ(parse(text, error), nullptr) << text;
  return error.text();
}

TEST(PtxParser, VariablesBeginAsWritten) {
  const auto module = read(
      ".global .align 4 .u32 one = 7;\n"
      ".visible .const .align 16 .v4 .f32 pairs[2][3] = {1.0, 2, {0f40000000}};\n"
      ".global .align 1 .b8 text[] = {104, 105, 0};\n"
      ".global .s16 two[2][2] = {{-1}, {2, 3}};\n"
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".global .u64 where[2] = {one, generic(text)+2};\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->variable("one")->contents, std::string("\7\0\0\0", 4));
  EXPECT_EQ(module->variable("pairs")->size, 96u);
  EXPECT_EQ(module->variable("pairs")->align, 16u);
  EXPECT_EQ(module->variable("text")->size, 2u + 1) << module->variable("text")->contents.size();
  EXPECT_EQ(module->variable("two")->contents, std::string("\xff\xff\0\0\2\0\3\0", 8));
  EXPECT_EQ(module->variable("dynamic")->size, 0u);
  EXPECT_TRUE(module->variable("dynamic")->is_extern);
  const Variable& where = *module->variable("where");
  ASSERT_EQ(where.references.size(), 2u);
  EXPECT_EQ(where.references[1].offset, 8u);
  EXPECT_EQ(where.references[1].name, "text");
  EXPECT_EQ(where.references[1].addend, 2u);
}

TEST(PtxParser, DirectivesNeedNoBlanks) {
  const auto module = read(
      ".visible.global.align 8.b8 bytes[16];.const.v2.f32 pair={1.5,2.};\n"
      ".visible.entry k(.param.u64 x,.param.align 4.b8 y[12]).maxntid 64,1,1.minnctapersm 2"
      "{.reg.b32 %r<3>;.shared.align 16.b8 s[32];mov.u32 %r1,5;ret;}");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->variable("bytes")->align, 8u);
  EXPECT_EQ(module->variable("pair")->size, 8u);
  EXPECT_EQ(module->variable("pair")->contents, std::string("\0\0\xc0\x3f\0\0\0\x40", 8));
  const Function& k = *module->function("k");
  ASSERT_EQ(k.parameters.size(), 2u);
  EXPECT_EQ(k.parameters[0].type, Type::kU64);
  EXPECT_EQ(k.parameters[1].align, 4u);
  EXPECT_EQ(k.parameters[1].size, 12u);
  EXPECT_EQ(k.most_threads[0], 64u);
  ASSERT_EQ(k.variables.size(), 2u);
  EXPECT_EQ(k.variables[1].align, 16u);
}

TEST(PtxParser, ConstantsMayBeExpressions) {
  const auto module = read(
      ".global .b8 bytes[4*8+1]; .global .u32 value = 1<<4|3;\n"
      ".entry k() { mov.u32 %r1, 2+3*4-(6>>1); mov.u32 %r2, ~0; add.u32 %r3, %r1, -1+7 % 7; "
      "add .u32 %r3, (1+2)*3, -(5); }");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->variable("bytes")->size, 33u);
  EXPECT_EQ(module->variable("value")->contents, std::string("\x13\0\0\0", 4));
  const auto& statements = module->function("k")->statements;
  EXPECT_EQ(statements[0].operands[1].value, 11u);
  EXPECT_EQ(statements[1].operands[1].value, ~std::uint64_t{0});
  EXPECT_EQ(statements[2].operands[2].value, ~std::uint64_t{0});
  EXPECT_EQ(statements[3].name, "add.u32");
  EXPECT_EQ(statements[3].operands[1].value, 9u);
  EXPECT_EQ(statements[3].operands[2].value, static_cast<std::uint64_t>(-5));
  for (const char* bad : {"1+", "1+(2", "1/0", "1<2", "(1", "~x"}) {
    wrong(".version 8.3\n.target sm_90\n.entry k() { mov.u32 %r1, " + std::string(bad) + "; }");
  }
}

TEST(PtxParser, AModuleHasAVersionAndATarget) {
  const auto module = read("");
  EXPECT_EQ(module->version, 803u);
  EXPECT_EQ(module->target, "sm_90");
  EXPECT_EQ(module->address_bits, 64u);
}

TEST(PtxParser, FunctionsHaveHeadsAndBodies) {
  const auto module = read(R"(
.file 1 "x.cu", 123, 456
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 values);
.weak .func (.reg .u32 out) helper(.reg .u32 in) .noreturn { ret; }
.visible .entry k(
  .param .u64 .ptr .global .align 16 p,
  .param .align 8 .b8 structure[24]
)
.maxntid 128, 2
.minnctapersm 2
{
  .reg .b32 %r<5>, single;
  .loc 1 2 3
  .pragma "nounroll";
start:
  @!%p1 bra start;
  { .reg .b64 inner; mov.b64 inner, {%r1, %r2}; }
  table: .branchtargets start, start;
  brx.idx %r1, table;
  st.global.f32 [%rd1+-4], 0f3F800000;
  setp.eq.s32 %p1|%p2, %r1, -5;
  ld.global.v2.f64 {%f1, %f2}, [%rd1-8];
}
.section .debug_info { .b8 1, 2, { } }
)");
  ASSERT_TRUE(module);
  ASSERT_EQ(module->functions.size(), 3u);
  EXPECT_FALSE(module->function("vprintf")->defined);
  const Function& k = *module->function("k");
  EXPECT_TRUE(k.entry);
  ASSERT_EQ(k.parameters.size(), 2u);
  EXPECT_EQ(k.parameters[0].space, Space::kParam);
  EXPECT_EQ(k.parameters[1].size, 24u);
  EXPECT_EQ(k.most_threads[0], 128u);
  EXPECT_EQ(k.most_threads[1], 2u);
  EXPECT_EQ(k.most_threads[2], 1u);
  const Statement& store = k.statements[k.statements.size() - 3];
  EXPECT_EQ(store.name, "st.global.f32");
  EXPECT_EQ(store.operands[0].value, static_cast<std::uint64_t>(-4));
  EXPECT_EQ(store.operands[1].value, std::bit_cast<std::uint32_t>(1.0f));
  const Statement& compare = k.statements[k.statements.size() - 2];
  EXPECT_EQ(compare.operands[0].kind, Operand::Kind::kPair);
  EXPECT_EQ(compare.operands[2].value, static_cast<std::uint64_t>(-5));
}

TEST(PtxParser, MistakesHaveAPlace) {
  EXPECT_EQ(wrong(".entry k(\n  .param u64 x)"), "line 2, column 10: expected a type");
  EXPECT_EQ(wrong(".entry k()\n{\n  add.u32 %r1 %r2;\n}"), "line 3, column 15: expected `,`");
  EXPECT_EQ(wrong(".entry k()\n{\n  ret;\n"), "line 4, column 1: expected an instruction");
  EXPECT_EQ(wrong("/* no end"), "line 1, column 1: a comment that does not end");
  EXPECT_EQ(wrong(".global .u32 x = 0f123;"), "line 1, column 18: a number with too few digits");
  EXPECT_EQ(wrong(".global .u32 x[2] = {1, 2, 3};"),
            "line 1, column 28: more values than the variable has room for");
  EXPECT_EQ(wrong(".global .u8 x[99999999999][99999999999];").substr(0, 8), "line 1, ");
  EXPECT_EQ(wrong("hello"), "line 1, column 1: expected a directive, a variable or a function");
  EXPECT_EQ(wrong(".global .u8 \x01;").substr(0, 18), "line 1, column 13:");
}

TEST(PtxParser, OnlyAModuleLooksLikeOne) {
  EXPECT_TRUE(looks_like_ptx("// x\n.version 8.0\n.target sm_90\n"));
  EXPECT_FALSE(looks_like_ptx(".version 8.0\n"));
  EXPECT_FALSE(looks_like_ptx("// .version .target"));
  EXPECT_FALSE(looks_like_ptx("\177ELF"));
}

TEST(PtxParser, OfSeveralWithOneNameADefinitionIsFound) {
  const auto module = read(
      ".extern .global .u32 v;\n.global .u32 v = 7;\n.extern .global .u32 v;\n"
      ".func f();\n.func f() { ret; }\n.func f();\n.func g();\n");
  ASSERT_TRUE(module);
  EXPECT_FALSE(module->variable("v")->is_extern);
  EXPECT_EQ(module->variable("w"), nullptr);
  EXPECT_TRUE(module->function("f")->defined);
  EXPECT_FALSE(module->function("g")->defined);
  EXPECT_EQ(module->function("h"), nullptr);
}

TEST(PtxParser, ScopesInEachOtherHaveAnEnd) {
  const auto nested = [](std::size_t depth) {
    return ".entry k() {" + std::string(depth, '{') + " ret; " + std::string(depth, '}') + "}\n";
  };
  EXPECT_TRUE(read(nested(200)));
  EXPECT_NE(wrong(nested(100'000)).find("too many scopes in each other"), std::string::npos);
}

}  // namespace
}  // namespace cuvmm::kernels
