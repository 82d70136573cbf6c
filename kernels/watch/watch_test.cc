// SPDX-License-Identifier: Apache-2.0
// Pairs of a mistake and its legal twin, each a few lines of PTX.
#include "kernels/watch/watch.h"

#include <gmock/gmock.h>

#include <array>

#include "kernels/kernels.h"
#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

using testing::FlatMemory;
using testing::module_of;

// Memory of which nobody wrote a byte.
class FreshMemory : public FlatMemory {
 public:
  FreshMemory() : FlatMemory(1 << 16), bits_((1 << 16) / 64) {}

 private:
  Window find(std::uint64_t) override {
    return {kBase, kBase + bytes.size(), bytes.data(), true, true, bits_.data(), 0};
  }
  std::vector<std::uint64_t> bits_;
};

struct Looked {
  std::string error;
  Fault fault;
  std::vector<Fault> found;
};

Looked look(const std::string& body, unsigned threads, unsigned blocks, const Checks& checks) {
  Looked out;
  Error error;
  const auto module = parse(module_of(body, ".extern .shared .align 16 .b8 s[];"), error);
  if (!module) return {.error = error.text(), .fault = {}, .found = {}};
  const Addresses none = [](std::string_view) -> std::optional<std::uint64_t> { return {}; };
  const Decoded decoded = decode(*module, *module->function("k"), none);
  out.error = decoded.why_not;
  if (!decoded.code) return out;
  FreshMemory memory;
  std::vector<char> parameters(decoded.code->parameter_bytes);
  std::memcpy(parameters.data(), &FlatMemory::kBase, sizeof FlatMemory::kBase);
  const Shape shape{{blocks, 1, 1}, {threads, 1, 1}, 4096};
  out.fault = run(*decoded.code, shape, parameters, memory, 1 << 20, checks, out.found);
  return out;
}

struct Case {
  const char* name;
  Wrong wrong;  ///< kNone: a legal twin
  unsigned threads, blocks;
  const char* body;
};

// %r1 is the thread, %r2 the block; %rd1 and %r3 point to the thread's own word of global and
// shared memory, %r4 to the word of its neighbour in shared memory.
constexpr const char* kBefore =
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd1, %r1, 4;\n"
    "add.u64 %rd1, %rd0, %rd1; mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 4, %r3; xor.b32 %r4, %r3, 4;\n"
    "setp.lt.u32 %p1, %r1, 16; setp.lt.u32 %p2, %r1, 32; setp.eq.u32 %p3, %r1, 0;\n"
    "setp.eq.u32 %p4, %r2, 0; add.u32 %r5, %r1, 100; mad.lo.u32 %r6, %r2, 64, %r5;\n"
    "xor.b32 %r7, %r3, 128;\n";

constexpr Case kCases[] = {
    {"load", Wrong::kUnwritten, 1, 1, "ld.global.u32 %r9, [%rd1];"},
    {"load", Wrong::kNone, 1, 1, "st.global.u32 [%rd1], 0; ld.global.u32 %r9, [%rd1];"},
    {"generic load", Wrong::kUnwritten, 1, 1, "ld.u32 %r9, [%rd1+64];"},
    {"generic load", Wrong::kNone, 1, 1, "st.u32 [%rd1+64], 7; ld.u32 %r9, [%rd1+64];"},
    {"last byte", Wrong::kUnwritten, 1, 1,
     "mov.u16 %h1, 1; st.global.u16 [%rd1], %h1; st.global.u8 [%rd1+2], %h1; ld.global.u32 %r9, "
     "[%rd1];"},
    {"last byte", Wrong::kNone, 1, 1,
     "mov.u16 %h1, 1; st.global.u16 [%rd1], %h1; st.global.u8 [%rd1+2], %h1;"
     "st.global.u8 [%rd1+3], %h1; ld.global.u32 %r9, [%rd1];"},
    {"vector", Wrong::kUnwritten, 1, 1,
     "st.global.v2.u32 [%rd0], {%r1, %r1}; ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd0];"},
    {"vector", Wrong::kNone, 1, 1,
     "st.global.v2.u32 [%rd0], {%r1, %r1}; ld.global.v2.u32 {%r8, %r9}, [%rd0];"},
    {"atomic", Wrong::kUnwritten, 1, 1, "red.global.add.u32 [%rd0], 1;"},
    {"atomic", Wrong::kNone, 1, 1, "st.global.u32 [%rd0], 0; red.global.add.u32 [%rd0], 1;"},
    {"guarded", Wrong::kUnwritten, 32, 1, "@%p1 ld.global.u32 %r9, [%rd1];"},
    {"guarded", Wrong::kNone, 32, 1,
     "@%p1 st.global.u32 [%rd1], %r1; @%p1 ld.global.u32 %r9, [%rd1];"},

    {"neighbours", Wrong::kSharedRace, 64, 1,
     "st.shared.u32 [%r3], %r5; ld.shared.u32 %r9, [%r4];"},
    {"neighbours", Wrong::kNone, 64, 1,
     "st.shared.u32 [%r3], %r5; bar.sync 0; ld.shared.u32 %r9, [%r4];"},
    {"neighbours in a warp", Wrong::kNone, 64, 1,
     "st.shared.u32 [%r3], %r5; bar.warp.sync 0xffffffff; ld.shared.u32 %r9, [%r4];"},
    {"own words", Wrong::kNone, 64, 1, "st.shared.u32 [%r3], %r5; ld.shared.u32 %r9, [%r3];"},
    {"blocks one after the other", Wrong::kNone, 64, 3,
     "add.u32 %r9, %r1, %r6; st.shared.u32 [%r3], %r9; bar.sync 0; ld.shared.u32 %r9, [%r4];"},
    {"across warps", Wrong::kSharedRace, 64, 1,
     "st.shared.u32 [%r3], %r5; bar.warp.sync 0xffffffff; ld.shared.u32 %r9, [%r7];"},
    {"across warps", Wrong::kNone, 64, 1,
     "st.shared.u32 [%r3], %r5; barrier.sync 1, 64; ld.shared.u32 %r9, [%r7];"},
    {"read, then written", Wrong::kSharedRace, 64, 1,
     "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r9, [%r7]; st.shared.u32 [%r3], %r5;"},
    {"read, then written", Wrong::kNone, 64, 1,
     "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r9, [%r7]; bar.sync 0;"
     "st.shared.u32 [%r3], %r5;"},
    {"one word", Wrong::kSharedRace, 64, 1, "st.shared.u32 [s], %r5;"},
    {"one word of one value", Wrong::kNone, 64, 1, "st.shared.u32 [s], 5;"},
    {"one word, one thread", Wrong::kNone, 64, 1, "@%p3 st.shared.u32 [s], %r5;"},
    {"bytes of a word", Wrong::kNone, 64, 1,
     "add.u32 %r9, %r1, 1; cvt.u16.u32 %h1, %r9; mov.u32 %r8, s; add.u32 %r8, %r8, %r1;"
     "st.shared.u8 [%r8], %h1;"},
    {"atomics", Wrong::kNone, 64, 1, "red.shared.add.u32 [s], 1;"},
    {"atomic and load", Wrong::kSharedRace, 64, 1,
     "red.shared.add.u32 [s], 1; ld.shared.u32 %r9, [s];"},
    {"atomic and load", Wrong::kNone, 64, 1,
     "red.shared.add.u32 [s], 1; bar.sync 0; ld.shared.u32 %r9, [s];"},
    {"store and atomics", Wrong::kSharedRace, 64, 1,
     "@%p3 st.shared.u32 [s], 7; red.shared.add.u32 [s], 1;"},
    {"store and atomics", Wrong::kNone, 64, 1,
     "@%p3 st.shared.u32 [s], 7; bar.sync 0; red.shared.add.u32 [s], 1;"},
    {"volatile", Wrong::kNone, 32, 1,
     "st.volatile.shared.u32 [%r3], %r5; ld.volatile.shared.u32 %r9, [%r4];"},

    {"blocks", Wrong::kGlobalRace, 1, 4, "st.global.u32 [%rd0], %r6;"},
    {"blocks", Wrong::kNone, 1, 4, "atom.global.exch.b32 %r9, [%rd0], %r6;"},
    {"blocks read", Wrong::kGlobalRace, 1, 4,
     "@%p4 st.global.u32 [%rd0], 5; ld.global.u32 %r9, [%rd0];"},
    {"blocks read", Wrong::kNone, 1, 4,
     "@%p4 st.global.u32 [%rd0], 5; @%p4 ld.global.u32 %r9, [%rd0];"},
    {"published", Wrong::kGlobalRace, 1, 2,
     "@%p4 st.global.u32 [%rd0], 5; atom.global.add.u32 %r8, [%rd0+64], 1;"
     "ld.global.u32 %r9, [%rd0];"},
    {"published", Wrong::kNone, 1, 2,
     "@%p4 st.global.u32 [%rd0], 5; membar.gl; atom.global.add.u32 %r8, [%rd0+64], 1;"
     "ld.global.u32 %r9, [%rd0];"},
    {"released", Wrong::kNone, 1, 2,
     "@%p4 st.global.u32 [%rd0], 5; atom.acq_rel.gpu.global.add.u32 %r8, [%rd0+64], 1;"
     "ld.global.u32 %r9, [%rd0];"},
    {"threads of a block", Wrong::kGlobalRace, 64, 1,
     "st.global.u32 [%rd1], %r5; ld.global.u32 %r9, [%rd0];"},
    {"threads of a block", Wrong::kNone, 64, 1,
     "st.global.u32 [%rd1], %r5; bar.sync 0; ld.global.u32 %r9, [%rd0];"},

    {"count", Wrong::kCount, 64, 1, "bar.sync 1, 48;"},
    {"count", Wrong::kNone, 64, 1, "@%p2 bar.sync 1, 32;"},
    {"mask", Wrong::kMask, 32, 1, "bar.warp.sync 0xffff;"},
    {"mask", Wrong::kNone, 32, 1, "@%p1 bar.warp.sync 0xffff;"},
    {"two instructions", Wrong::kDivergent, 32, 1,
     "@%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:"},
    {"two instructions", Wrong::kNone, 64, 1, "@%p2 bra A; bar.sync 0; bra B; A: bar.sync 0; B:"},
    {"too many", Wrong::kStuck, 64, 1, "bar.sync 1, 96;"},
    {"too many", Wrong::kNone, 64, 1, "bar.sync 1, 64;"},
};

TEST(Watch, EachMistakeIsFoundAndItsTwinIsNot) {
  for (const Case& each : kCases) {
    const bool init = each.wrong == Wrong::kUnwritten || each.blocks * each.threads == 1;
    const Checks checks{.init = init, .race = true, .sync = true};
    const Looked out = look(std::string(kBefore) + each.body, each.threads, each.blocks, checks);
    ASSERT_EQ(out.error, "") << each.name << ": " << each.body;
    std::vector<Wrong> found;
    for (const Fault& fault : out.found) found.push_back(fault.wrong);
    if (out.fault) found.push_back(out.fault.wrong);
    const std::vector<Wrong> expected(each.wrong == Wrong::kNone ? 0 : 1, each.wrong);
    EXPECT_EQ(found, expected) << each.name << ": " << each.body << "\n"
                               << (out.found.empty() ? out.fault.what : out.found[0].what);
  }
}

TEST(Watch, WithoutAChecksWordNothingIsFound) {
  for (const Case& each : kCases) {
    const Looked out = look(std::string(kBefore) + each.body, each.threads, each.blocks, {});
    EXPECT_TRUE(out.found.empty()) << each.name;
  }
}

TEST(Watch, TheThreadsAndTheLinesAreNamed) {
  const Looked out =
      look(std::string(kBefore) + "st.global.u32 [%rd0], %r6;", 1, 4, {.race = true});
  ASSERT_EQ(out.found.size(), 1U) << "each pair of lines once";
  const Fault& fault = out.found[0];
  EXPECT_THAT(fault.what, ::testing::HasSubstr("it writes global memory at 0x10000, which thread "
                                               "(0, 0, 0) of block (0, 0, 0) wrote"));
  EXPECT_EQ(fault.block[0], 1U);
  EXPECT_EQ(fault.address, FlatMemory::kBase);
  EXPECT_EQ(fault.line, fault.other_line);
}

TEST(Source, LinesComeFromTheLastLocInTheFunction) {
  constexpr std::string_view kText =
      ".visible .entry a(\n)\n{\n.loc 1 12 5\nret;\n}\n.visible .entry b(\n)\n{\nret;\n"
      ".loc 2 30 1, function_name L, inlined_at 1 9 2\nret;\n}\n"
      ".visible .entry c(\n)\n{\n.loc 3 30 1, function_name L, inlined_at 1 9 2\nret;\n}\n"
      ".file 3 \"/usr/include/atomics.h\"\n"
      ".file 1 \"a.cu\"\n.file 2 \"dir/b.h\", 12, 34\n";
  EXPECT_EQ(source_of(kText, 5).file, "a.cu");
  EXPECT_EQ(source_of(kText, 5).line, 12);
  EXPECT_EQ(source_of(kText, 10).line, 0) << "of another function";
  EXPECT_EQ(source_of(kText, 12).file, "dir/b.h");
  EXPECT_EQ(source_of(kText, 12).line, 30);
  EXPECT_EQ(source_of(kText, 18).file, "a.cu") << "the caller of a function of a CUDA header";
  EXPECT_EQ(source_of(kText, 18).line, 9);
  EXPECT_EQ(source_of("", 3).line, 0);
}

}  // namespace
}  // namespace cuvmm::kernels
