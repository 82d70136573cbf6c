// SPDX-License-Identifier: Apache-2.0
// Instructions on several integers in a register: those of video (vadd, vadd2, vadd4 and their
// kind), and add, min and max of two integers of 16 bits.
#include <algorithm>

#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

enum Operation : std::uint8_t { kAdd, kSub, kDifference, kMin, kMax, kShiftLeft, kShiftRight };
enum Flag : std::uint8_t {
  kSaturates = 1,
  kAccumulates = 2,
  kRectifies = 4,
  kSignedA = 8,
  kSignedB = 16,
  kSignedOut = 32
};

std::int64_t compute(std::uint8_t operation, std::int64_t a, std::int64_t b) {
  switch (operation) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kDifference:
      return a < b ? b - a : a - b;
    case kMin:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

// Part `at` of `bits` bits.
std::int64_t part_of(std::uint64_t whole, unsigned at, unsigned bits, bool is_signed) {
  const std::uint64_t moved = whole >> (at * bits) << (64 - bits);
  return is_signed ? static_cast<std::int64_t>(moved) >> (64 - bits)
                   : static_cast<std::int64_t>(moved >> (64 - bits));
}

// `option`: the operation; `count`: how many parts; `flags`: of Flag
void run_parts(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  const unsigned bits = 32U / i.count;
  const bool is_signed = i.flags & kSignedOut;
  const std::int64_t most = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  const std::int64_t least = is_signed ? -most - 1 : 0;
  each_lane(m, [&](unsigned lane) {
    std::uint64_t whole = 0, sum = c[lane];
    for (unsigned at = 0; at < i.count; ++at) {
      std::int64_t value = compute(i.option, part_of(a[lane], at, bits, i.flags & kSignedA),
                                   part_of(b[lane], at, bits, i.flags & kSignedB));
      if (i.flags & kSaturates) value = std::clamp(value, least, most);
      if (i.flags & kRectifies) value = std::max<std::int64_t>(value, 0);
      const auto low = static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1);
      whole |= low << (at * bits);
      sum += static_cast<std::uint64_t>(part_of(low, 0, bits, is_signed));
    }
    out[lane] = static_cast<std::uint32_t>(i.flags & kAccumulates ? sum : whole);
  });
}

template <Operation kOperation, unsigned kCount>
void decode_video(Site& site) {
  const Type to = site.modifiers.take_type(), a = site.modifiers.take_type(),
             b = site.modifiers.take_type();
  for (const Type type : {to, a, b}) {
    if (type != Type::kS32 && type != Type::kU32)
      return site.refuse("it is not known for its types");
  }
  Instruction& out = site.out;
  out.run = run_parts;
  out.option = kOperation;
  out.count = kCount;
  if (site.modifiers.take("sat")) out.flags |= kSaturates;
  const bool accumulates = site.modifiers.take("add");
  if (accumulates) out.flags |= kAccumulates;
  // The sum of parts that fit their types is the same, whether they are cut off before or not; so
  // is a sum of 32 bits.
  const bool fit = kCount == 1 || (kOperation != kAdd && kOperation != kSub && to == a && to == b &&
                                   (kOperation != kDifference || !is_signed(to)));
  if (accumulates && (!fit || (out.flags & kSaturates))) {
    return site.refuse("`.add` is not known for its types");
  }
  if (is_signed(to)) out.flags |= kSignedOut;
  if (is_signed(a)) out.flags |= kSignedA;
  if (is_signed(b)) out.flags |= kSignedB;
  // Without .add, c is what the parts outside of a mask become, and all parts are in it here.
  if (!site.expect(kCount == 1 && !accumulates ? 3 : 4, 4)) return;
  out.v[0] = site.target(0);
  out.a = site.source(1, a);
  out.b = site.source(2, b);
  if (site.operands() == 4) out.c = site.source(3, to);
}

// kSaturates: a distance above 32 counts as 32, else it is taken modulo 32.
void run_shift(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_lane(m, [&](unsigned lane) {
    const auto given = static_cast<std::uint32_t>(b[lane]);
    const unsigned by = i.flags & kSaturates ? std::min(given, 32U) : given % 32;
    const std::int64_t value = part_of(a[lane], 0, 32, i.flags & kSignedA);
    const auto moved = i.option == kShiftLeft ? static_cast<std::uint64_t>(value) << by
                                              : static_cast<std::uint64_t>(value >> by);
    out[lane] = static_cast<std::uint32_t>(moved + (i.flags & kAccumulates ? c[lane] : 0));
  });
}

template <Operation kOperation>
void decode_video_shift(Site& site) {
  const Type to = site.modifiers.take_type(), a = site.modifiers.take_type(),
             b = site.modifiers.take_type();
  for (const Type type : {to, a}) {
    if (type != Type::kS32 && type != Type::kU32)
      return site.refuse("it is not known for its types");
  }
  const bool clamps = site.modifiers.take("clamp");
  if (b != Type::kU32 || (!clamps && !site.modifiers.take("wrap"))) {
    return site.refuse("it is not known for its types");
  }
  Instruction& out = site.out;
  out.run = run_shift;
  out.option = kOperation;
  const bool accumulates = site.modifiers.take("add");
  if (clamps) out.flags |= kSaturates;
  if (accumulates) out.flags |= kAccumulates;
  if (is_signed(a)) out.flags |= kSignedA;
  if (!site.expect(accumulates ? 4 : 3)) return;
  out.v[0] = site.target(0);
  out.a = site.source(1, a);
  out.b = site.source(2, b);
  if (accumulates) out.c = site.source(3, to);
}

constexpr Opcode kOpcodes[] = {
    {"vshl", decode_video_shift<kShiftLeft>},
    {"vshr", decode_video_shift<kShiftRight>},
    {"vadd", decode_video<kAdd, 1>},
    {"vadd2", decode_video<kAdd, 2>},
    {"vadd4", decode_video<kAdd, 4>},
    {"vsub", decode_video<kSub, 1>},
    {"vsub2", decode_video<kSub, 2>},
    {"vsub4", decode_video<kSub, 4>},
    {"vabsdiff", decode_video<kDifference, 1>},
    {"vabsdiff2", decode_video<kDifference, 2>},
    {"vabsdiff4", decode_video<kDifference, 4>},
    {"vmin", decode_video<kMin, 1>},
    {"vmin2", decode_video<kMin, 2>},
    {"vmin4", decode_video<kMin, 4>},
    {"vmax", decode_video<kMax, 1>},
    {"vmax2", decode_video<kMax, 2>},
    {"vmax4", decode_video<kMax, 4>},
};

}  // namespace

bool decode_halves(Site& site, Type type) {
  const std::string_view base = site.modifiers.base();
  const bool has_sign = type == Type::kS16x2;
  if ((!has_sign && type != Type::kU16x2) || (base != "add" && base != "min" && base != "max")) {
    return false;
  }
  Instruction& out = site.out;
  out.run = run_parts;
  out.option = base == "add" ? kAdd : base == "min" ? kMin : kMax;
  out.count = 2;
  if (has_sign) out.flags = kSignedA | kSignedB | kSignedOut;
  if (has_sign && base != "add" && site.modifiers.take("relu")) out.flags |= kRectifies;
  if (!site.expect(3)) return true;
  out.v[0] = site.target(0);
  out.a = site.source(1, type);
  out.b = site.source(2, type);
  return true;
}

std::span<const Opcode> video_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
