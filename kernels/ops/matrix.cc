// SPDX-License-Identifier: Apache-2.0
// Matrices in the registers of a warp: ldmatrix and mma.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

constexpr unsigned kRows = 16, kColumns = 8, kDeepest = 32;  // of a, of b; the longest sum

// All lanes of the warp take part.
void gather_all(Site& site) {
  Operand all;
  all.kind = Operand::Kind::kInteger;
  all.value = kAll;
  site.out.flow = Flow::kConverge;
  site.out.e = site.source(all, Type::kB32);
}

// Each matrix has 8 rows of 16 bytes, whose addresses 8 lanes give. A lane gets 4 bytes of each
// matrix, from a row, or, transposed (option 1), from a column.
void load_matrix(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kLines = 8, kLine = 16;
  const char* lines[4 * kLines] = {};
  for (unsigned line = 0; line < i.count * kLines; ++line) {
    lines[line] = warp.at(i, line, warp.reg(i.a)[line] + i.immediate, kLine, false);
    if (!lines[line]) return;
  }
  const auto half = [&](unsigned matrix, unsigned row, unsigned column) {
    std::uint16_t value = 0;
    std::memcpy(&value, lines[matrix * kLines + row] + column * sizeof value, sizeof value);
    return std::uint64_t{value};
  };
  each_lane(m, [&](unsigned lane) {
    const unsigned line = lane / 4, pair = lane % 4 * 2;
    for (unsigned matrix = 0; matrix < i.count; ++matrix) {
      warp.reg(i.v[matrix])[lane] =
          i.option ? half(matrix, pair, line) | half(matrix, pair + 1, line) << 16
                   : half(matrix, line, pair) | half(matrix, line, pair + 1) << 16;
    }
  });
}

void decode_ldmatrix(Site& site) {
  constexpr std::string_view kCounts[] = {"x1", "x2", "", "x4"};
  Modifiers& modifiers = site.modifiers;
  const bool whole = modifiers.take("sync") && modifiers.take("aligned") && modifiers.take("m8n8");
  const std::size_t count = modifiers.take_one(kCounts, 4) + 1;
  site.out.option = modifiers.take("trans") ? 1 : 0;
  const Space space = modifiers.take_space();
  const bool known = space == Space::kShared || space == Space::kNone;
  if (!whole || count > 4 || !known || modifiers.take_type() != Type::kB16) {
    return site.refuse("it is not known");
  }
  if (!site.expect(2)) return;
  const Operand& to = site.operand(0);
  const bool vector = to.kind == Operand::Kind::kVector;
  if ((vector ? to.parts.size() : 1) != count) return site.refuse("a vector of another size");
  site.out.run = load_matrix;
  site.out.count = static_cast<std::uint8_t>(count);
  site.address(site.operand(1), space);
  for (std::size_t i = 0; i < count; ++i) site.out.v[i] = site.target(vector ? to.parts[i] : to);
  gather_all(site);
}

// Where the registers of a, b, c and d begin in the list of an mma: 4, 2, 4, 4 of them at most.
enum : std::size_t { kA = 0, kB = 4, kC = 6, kD = 10, kAllRegisters = 14 };
enum Element : std::uint8_t { kHalves, kBrains, kTf32, kSignedBytes, kUnsignedBytes };

// How many numbers of its kind a register has.
unsigned per_register(std::uint8_t element) {
  return element <= kBrains ? 2 : element == kTf32 ? 1 : 4;
}

// Number `at` of a register.
double number(std::uint64_t bits, unsigned at, std::uint8_t element) {
  switch (element) {
    case kHalves:
      return Small<kHalf, 1>::load(bits >> (16 * at));
    case kBrains:
      return Small<kBrain, 1>::load(bits >> (16 * at));
    case kTf32:
      return F32::load(bits & 0xffffe000);
    case kSignedBytes:
      return get<std::int8_t>(bits >> (8 * at));
    default:
      return get<std::uint8_t>(bits >> (8 * at));
  }
}

struct Matrices {
  double a[kRows][kDeepest] = {}, b[kDeepest][kColumns] = {};
};

// count: registers of b; option and flags: the kinds of numbers in a and b
void gather_matrices(Warp& warp, const Instruction& i, Matrices& out) {
  const std::vector<std::uint32_t>& slots = warp.code().lists[i.immediate];
  const unsigned each = per_register(i.option), block = 4 * each;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned group = lane / 4, begin = lane % 4 * each;
    for (unsigned r = 0; r < 2U * i.count; ++r) {
      for (unsigned at = 0; at < each; ++at) {
        out.a[group + r % 2 * 8][r / 2 * block + begin + at] =
            number(warp.reg(slots[kA + r])[lane], at, i.option);
        if (r >= i.count) continue;
        out.b[r * block + begin + at][group] = number(warp.reg(slots[kB + r])[lane], at, i.flags);
      }
    }
  }
}

// Products of bytes, and their sums, are exact in a double. Those of floating point are nearly so:
// the sum is rounded once, where a GPU cuts off the parts of its terms, in ways that are not
// specified. `type`: of c and d; `target` 1: .satfinite
void multiply(Warp& warp, const Instruction& i, Mask m) {
  const std::vector<std::uint32_t>& slots = warp.code().lists[i.immediate];
  Matrices in;
  gather_matrices(warp, i, in);
  const auto sum = [&](unsigned row, unsigned column, double c) {
    double all = 0;
    for (unsigned k = 0; k < i.count * 4 * per_register(i.option); ++k) {
      all += in.a[row][k] * in.b[k][column];
    }
    return all + c;
  };
  const auto whole = [&](double value) {
    constexpr double kLeast = -0x1p31, kMost = 0x1p31 - 1;
    const auto exact =
        static_cast<std::int64_t>(i.target ? std::clamp(value, kLeast, kMost) : value);
    return std::uint64_t{static_cast<std::uint32_t>(exact)};
  };
  each_lane(m, [&](unsigned lane) {
    std::uint64_t out[4] = {};
    for (unsigned part = 0; part < 4; ++part) {
      const unsigned row = lane / 4 + part / 2 * 8, column = lane % 4 * 2 + part % 2;
      const std::uint64_t c = i.type == Type::kF16
                                  ? warp.reg(slots[kC + part / 2])[lane] >> (16 * (part % 2))
                                  : warp.reg(slots[kC + part])[lane];
      if (i.type == Type::kS32) {
        out[part] = whole(sum(row, column, get<std::int32_t>(c)));
      } else if (i.type == Type::kF32) {
        out[part] = F32::store(static_cast<float>(sum(row, column, F32::load(c))));
      } else {
        const std::uint64_t half =
            Small<kHalf, 1>::store(sum(row, column, Small<kHalf, 1>::load(c)));
        out[part / 2] |= half << (16 * (part % 2));
      }
    }
    const unsigned registers = i.type == Type::kF16 ? 2 : 4;
    for (unsigned r = 0; r < registers; ++r) warp.reg(slots[kD + r])[lane] = out[r];
  });
}

// The kind of the numbers of a or b; false: it is not known.
bool take_element(Modifiers& modifiers, std::uint8_t& element) {
  constexpr std::string_view kNames[] = {"f16", "bf16", "tf32", "s8", "u8"};
  element = static_cast<std::uint8_t>(modifiers.take_one(kNames, std::size(kNames)));
  return element < std::size(kNames);
}

void decode_mma(Site& site) {
  constexpr std::string_view kShapes[] = {"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"};
  Modifiers& modifiers = site.modifiers;
  Instruction& out = site.out;
  const bool whole = modifiers.take("sync") && modifiers.take("aligned");
  const std::size_t shape = modifiers.take_one(kShapes, std::size(kShapes));
  const bool order = modifiers.take("row") && modifiers.take("col");
  if (!whole || !order || shape == std::size(kShapes)) return site.refuse("it is not known");
  out.target = modifiers.take("satfinite") ? 1 : 0;
  out.type = modifiers.take_type();
  const bool elements = take_element(modifiers, out.option) && take_element(modifiers, out.flags);
  const Type added = modifiers.take_type();
  const bool bytes = out.option >= kSignedBytes;
  const bool to_half = out.type == Type::kF16 && out.option == kHalves;
  const bool typed = bytes ? out.type == Type::kS32 : out.type == Type::kF32 || to_half;
  const bool alike = bytes ? out.flags >= kSignedBytes : out.flags == out.option;
  if (!elements || !typed || !alike || added != out.type || (out.target && !bytes)) {
    return site.refuse("it is not known for its types");
  }
  const std::size_t depth = std::size_t{4} << shape,
                    block = std::size_t{4} * per_register(out.option);
  if (depth != block && depth != 2 * block) return site.refuse("it is not known for its shape");
  const std::size_t counts[] = {to_half ? 2U : 4U, 2 * depth / block, depth / block,
                                to_half ? 2U : 4U};
  if (!site.expect(4)) return;
  for (std::size_t at = 0; at < 4; ++at) {
    if (site.operand(at).parts.size() != counts[at]) return site.refuse("a vector of another size");
  }
  out.run = multiply;
  out.count = static_cast<std::uint8_t>(depth / block);
  std::vector<std::uint32_t> slots(kAllRegisters);
  constexpr std::size_t kBegins[] = {kD, kA, kB, kC};
  for (std::size_t at = 0; at < 4; ++at) {
    for (std::size_t part = 0; part < counts[at]; ++part) {
      const Operand& each = site.operand(at).parts[part];
      slots[kBegins[at] + part] = at == 0 ? site.target(each) : site.source(each, Type::kB32);
    }
  }
  out.immediate = site.keep(std::move(slots));
  gather_all(site);
}

constexpr Opcode kOpcodes[] = {{"ldmatrix", decode_ldmatrix}, {"mma", decode_mma}};

}  // namespace

std::span<const Opcode> matrix_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
