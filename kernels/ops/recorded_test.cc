// SPDX-License-Identifier: Apache-2.0
// Single instructions give the bits that an H100 gave. testdata/h100_instructions.tsv.xz has hashes
// of the results; the inputs come from the random numbers of the program that recorded them, which
// favour edges: infinities, NaN, the smallest and largest numbers, halves, shifts beyond the width.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

constexpr std::size_t kThreads = 256, kColumn = kThreads * 8, kColumns = 15;
constexpr std::size_t kOutputs = kColumns * kColumn;  // the first byte behind the inputs

class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  unsigned below(unsigned limit) { return static_cast<unsigned>((next() >> 11) % limit); }

 private:
  std::uint64_t state_;
};

constexpr std::uint64_t kIntegers[] = {
    0,      1,      2,      31,      32,         33,         0x7f,       0x80,       0xff,
    0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe};
constexpr std::uint64_t kSingles[] = {
    0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
    1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000,
    0x3fc00000, 0x40200000, 0x4f000000, 0xcf000000, 0x5f000000, 0x4b800001, 0x33800000,
    0x3f7fffff, 0x3f800001, 0x42ff0000, 0xbf000000, 0x47800000, 0x387fc000, 0x33000000};
constexpr std::uint64_t kDoubles[] = {0,
                                      0x8000000000000000,
                                      0x3ff0000000000000,
                                      0xbff0000000000000,
                                      0x7ff0000000000000,
                                      0xfff0000000000000,
                                      0x7ff8000000000000,
                                      1,
                                      0x000fffffffffffff,
                                      0x0010000000000000,
                                      0x7fefffffffffffff,
                                      0x3fe0000000000000,
                                      0x3ff8000000000000,
                                      0x41dfffffffc00000,
                                      0x41e0000000000000,
                                      0x43e0000000000000,
                                      0x43f0000000000000,
                                      0x3ff0000010000000,
                                      0x3ff0000030000000,
                                      0x36a0000000000000,
                                      0x3fefffffffffffff,
                                      0x47efffffe0000000,
                                      0x47effffff0000000,
                                      0xc004000000000000};
constexpr std::uint64_t kHalves[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00,
                                     0x7e00, 1,      0x03ff, 0x0400, 0x7bff, 0x3800,
                                     0x3e00, 0x4100, 0x7fff, 0xffff};

template <std::size_t kCount>
std::uint64_t edge(Random& random, const std::uint64_t (&from)[kCount]) {
  return from[random.below(kCount)];
}

std::uint64_t any_integer(Random& random, std::uint64_t x, unsigned how, bool wide) {
  if (!wide) x >>= 32;
  if (how == 1) return x;
  if (how == 2) return x >> random.below(wide ? 64 : 32);
  const std::uint64_t found = edge(random, kIntegers);
  return wide && (found & 0x80000000) ? found | 0xffffffff00000000 : found;
}

std::uint64_t any_single(Random& random, std::uint64_t x, unsigned how) {
  x >>= 32;
  const std::uint64_t bits = how == 0   ? edge(random, kSingles)
                             : how == 1 ? x
                                        : (x & 0x80ffffff) | 0x3f000000;
  const bool nan = (bits & 0x7f800000) == 0x7f800000 && (bits & 0x7fffff) != 0;
  return nan ? 0x7fffffff : bits;
}

std::uint64_t any_double(Random& random, std::uint64_t x, unsigned how) {
  constexpr std::uint64_t kInfinity = 0x7ff0000000000000;
  std::uint64_t bits = x;
  if (how == 0) bits = edge(random, kDoubles);
  if (how == 2) {
    bits = (x & 0x800fffffffffffff) | 0x3fe0000000000000;
    bits |= std::uint64_t{random.below(32)} << 52;
  }
  const bool nan = (bits & kInfinity) == kInfinity && (bits << 12) != 0;
  return nan ? 0x7ff8000000000000 : bits;
}

// The columns of inputs: three each of 32 bits, 64 bits, f32, f64 and 16 bits.
std::vector<char> inputs(std::uint64_t state) {
  Random random(state);
  std::vector<char> bytes(kOutputs);
  for (std::size_t i = 0; i < kColumns * kThreads; ++i) {
    const std::size_t kind = i / kThreads / 3;
    const std::uint64_t x = random.next();
    const unsigned how = random.below(3);
    std::uint64_t value = 0;
    switch (kind) {
      case 0:
      case 1:
        value = any_integer(random, x, how, kind == 1);
        break;
      case 2:
        value = any_single(random, x, how);
        break;
      case 3:
        value = any_double(random, x, how);
        break;
      default:
        value = how == 0 ? edge(random, kHalves) : x >> 40 & 0xffff;
    }
    std::memcpy(&bytes[i * 8], &value, 8);
  }
  return bytes;
}

constexpr const char* kRegisters = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 to)
{
  .reg .b64 %i, %u, %o, %L, %w, %lg;
  .reg .b32 %tx, %R, %y;
  .reg .b16 %H;
  .reg .f32 %F;
  .reg .f64 %D;
  .reg .pred %P, %q, %pa;
  .reg .b32 %ra, %rb, %rc, %rs, %rt, %rp, %r0, %r1;
  .reg .b64 %la, %lb, %lc, %lp, %lt, %l0;
  .reg .f32 %fa, %fb, %fc, %f2, %f4, %f5, %fi, %fz;
  .reg .f64 %da, %db, %dc, %d2;
  .reg .b16 %ha, %hb, %hc, %hp, %h0, %h1;
)";
constexpr const char* kLoads = R"(
  ld.param.u64 %i, [to];
  mov.u32 %tx, %tid.x;
  mul.wide.u32 %w, %tx, 8;
  add.s64 %i, %i, %w;
  add.s64 %u, %i, 30720;
  mov.u64 %lg, %u;
  ld.global.u32 %ra, [%i]; ld.global.u32 %rb, [%i+2048]; ld.global.u32 %rc, [%i+4096];
  ld.global.u64 %la, [%i+6144]; ld.global.u64 %lb, [%i+8192]; ld.global.u64 %lc, [%i+10240];
  ld.global.f32 %fa, [%i+12288]; ld.global.f32 %fb, [%i+14336]; ld.global.f32 %fc, [%i+16384];
  ld.global.f64 %da, [%i+18432]; ld.global.f64 %db, [%i+20480]; ld.global.f64 %dc, [%i+22528];
  ld.global.u16 %ha, [%i+24576]; ld.global.u16 %hb, [%i+26624]; ld.global.u16 %hc, [%i+28672];
  and.b32 %rs, %rb, 63;
  and.b32 %rt, %rc, 31;
  and.b32 %rp, %rb, 0x7fffffff;
  or.b32 %rp, %rp, 1;
  and.b64 %lp, %lb, 0x7fffffffffffffff;
  or.b64 %lp, %lp, 1;
  and.b16 %hp, %hb, 0x7fff;
  or.b16 %hp, %hp, 1;
  cvt.u64.u32 %lt, %rt;
  and.b32 %r0, %ra, 4;
  setp.ne.u32 %pa, %r0, 0;
  and.b32 %r0, %tx, 15;
  add.u32 %r0, %r0, 119;
  shl.b32 %r0, %r0, 23;
  mov.b32 %f2, %r0;
  mul.rn.f32 %f4, %f2, %f2;
  cvt.f64.f32 %d2, %f2;
  sub.u32 %r1, %tx, 128;
  cvt.rn.f32.s32 %fi, %r1;
  mul.rn.f32 %fz, %fi, 0f00000000;
  testp.notanumber.f32 %q, %fa;
  selp.f32 %f5, %f2, %fa, %q;
  mov.b32 %y, %f5;
  and.b32 %r0, %y, 0x7f800000;
  setp.eq.u32 %q, %r0, 0x7f800000;
  selp.f32 %f5, %f2, %f5, %q;
  mov.u32 %r0, 0;
  mov.u32 %r1, 0;
)";

struct Case {
  std::string instruction;
  std::uint32_t expected = 0;
};

// The instruction with names of registers, and in `result` the letter of its result.
std::string spelled(const std::string& instruction, char& result) {
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const std::size_t operands = instruction.find(' ');
  std::string out;
  for (std::size_t i = 0; i < instruction.size(); ++i) {
    const char c = instruction[i], before = i ? instruction[i - 1] : ' ';
    const char next = i + 1 < instruction.size() ? instruction[i + 1] : ' ';
    const char second = i + 2 < instruction.size() ? instruction[i + 2] : ' ';
    const bool begins =
        i > operands && !in_name(before) && before != '.' && before != '%' && before != '_';
    if (begins && !in_name(next) && std::strchr("RLFDHPGXY", c)) {
      result = c;
      out += c == 'X' || c == 'Y' ? "%R" : c == 'G' ? "%H" : std::string("%") + c;
    } else {
      if (begins && in_name(next) && !in_name(second) && std::strchr("rlfdhp", c)) out += '%';
      out += c;
    }
  }
  return out + ";\n";
}

// Puts the result into %o, with one NaN for all.
const char* widened(const std::string& instruction, char result) {
  switch (result) {
    case 'L':
      return "mov.b64 %o, %L;";
    case 'F':
      return "setp.nan.f32 %q, %F, %F; mov.b32 %y, %F; selp.b32 %y, 0x7fffffff, %y, %q; "
             "cvt.u64.u32 %o, %y;";
    case 'D':
      return "setp.nan.f64 %q, %D, %D; mov.b64 %o, %D; selp.b64 %o, 0x7ff8000000000000, %o, %q;";
    case 'P':
      return "selp.u64 %o, 1, 0, %P;";
    case 'H':
      return instruction.find("f16") == instruction.npos
                 ? "cvt.u64.u16 %o, %H;"
                 : "setp.nan.f16 %q, %H, %H; selp.b16 %H, 0x7fff, %H, %q; cvt.u64.u16 %o, %H;";
    case 'G':
      return "cvt.u64.u16 %o, %H;";
    default:
      return "cvt.u64.u32 %o, %R;";
  }
}

std::uint64_t hash(const char* bytes, std::size_t size) {
  std::uint64_t hash = 1469598103934665603U;
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211U;
  }
  return hash;
}

void expect_recorded(std::uint64_t state, const std::vector<Case>& cases) {
  std::string text = std::string(kRegisters) + kLoads;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    char result = 0;
    text += spelled(cases[i].instruction, result);
    text += widened(cases[i].instruction, result);
    text += " st.global.u64 [%u+" + std::to_string(i * kColumn) + "], %o;\n";
  }
  std::vector<char> memory = inputs(state);
  memory.resize(kOutputs + cases.size() * kColumn);
  const testing::Ran ran =
      testing::run_module(text + "ret;\n}\n", {.block = {kThreads, 1, 1}}, 1 << 20, memory);
  ASSERT_EQ(ran.error, "") << text;
  ASSERT_EQ(ran.fault.what, "");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto got = static_cast<std::uint32_t>(hash(&ran.memory[kOutputs + i * kColumn], kColumn));
    EXPECT_EQ(got, cases[i].expected) << cases[i].instruction << ", inputs of " << state;
  }
}

struct Recording {
  std::uint64_t state = 0;
  std::vector<Case> cases;
};

std::vector<Recording> recordings() {
  std::ifstream file(CUVMM_H100_INSTRUCTIONS);
  std::vector<Recording> all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (line.starts_with('@')) {
      all.push_back({std::stoull(line.substr(1), nullptr, 16), {}});
      continue;
    }
    const std::size_t tab = line.find('\t');
    all.back().cases.push_back({line.substr(0, tab), static_cast<std::uint32_t>(std::stoul(
                                                         line.substr(tab + 1), nullptr, 16))});
  }
  return all;
}

TEST(RecordedInstruction, GivesTheBitsOfAnH100) {
  std::size_t compared = 0;
  for (const Recording& each : recordings()) {
    expect_recorded(each.state, each.cases);
    compared += each.cases.size();
  }
  EXPECT_EQ(compared, 1391u);
}

void expect_refused(const std::string& instruction) {
  const testing::Ran ran = testing::run_module(std::string(kRegisters) + instruction + "ret;\n}\n");
  const std::string opcode = instruction.substr(0, instruction.find(' '));
  EXPECT_NE(ran.error.find("`" + opcode + "`"), ran.error.npos) << instruction << ran.error;
  EXPECT_TRUE(ran.memory.empty()) << "it must not run: " << instruction;
}

// A launch fails, and its message names the instruction, if any word of it is not known.
TEST(RecordedInstruction, DoesNotRunWithAnythingUnknown) {
  std::set<std::string> seen;
  for (const Recording& recording : recordings()) {
    for (const Case& each : recording.cases) {
      char result = 0;
      const std::string known = spelled(each.instruction, result);
      if (known.find(';') + 2 != known.size() || !seen.insert(known).second) continue;
      const std::size_t operands = known.find(' ');
      std::string opcode = known.substr(0, operands);
      for (std::size_t dot = opcode.find('.'); dot != opcode.npos;
           dot = opcode.find('.', dot + 1)) {
        std::string changed = opcode;
        expect_refused(changed.insert(dot, "x") + known.substr(operands));
        changed = opcode;
        expect_refused(changed.insert(dot, ".frob") + known.substr(operands));
      }
      expect_refused(opcode + ".frob" + known.substr(operands));
      expect_refused(opcode + opcode.substr(opcode.rfind('.')) + known.substr(operands));
      expect_refused(known.substr(0, known.size() - 2) + ", %ra, %ra, %ra;\n");
      expect_refused(opcode + " %unknown" + known.substr(known.find_first_of(",;")));
    }
  }
  EXPECT_GT(seen.size(), 700u);
}

}  // namespace
}  // namespace cuvmm::kernels
