// SPDX-License-Identifier: Apache-2.0
// Comparisons: setp, set, slct and testp.
#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

// Two numbers have one of four relations; a comparison is a set of these.
enum Relation : std::uint8_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };

struct Named {
  std::string_view name;
  std::uint8_t set;
};
constexpr Named kComparisons[] = {
    {"eq", kEqual},
    {"ne", kLess | kGreater},
    {"lt", kLess},
    {"le", kLess | kEqual},
    {"gt", kGreater},
    {"ge", kGreater | kEqual},
    {"lo", kLess},
    {"ls", kLess | kEqual},
    {"hi", kGreater},
    {"hs", kGreater | kEqual},
    {"equ", kEqual | kUnordered},
    {"neu", kLess | kGreater | kUnordered},
    {"ltu", kLess | kUnordered},
    {"leu", kLess | kEqual | kUnordered},
    {"gtu", kGreater | kUnordered},
    {"geu", kGreater | kEqual | kUnordered},
    {"num", kLess | kEqual | kGreater},
    {"nan", kUnordered},
};

// The lanes where the comparison holds (`type` gives the operands' type), combined with predicate r
// by option: 1 and, 2 or, 3 xor.
template <class Load>
Mask compare(Warp& warp, const Instruction& i, Mask m, Load&& load) {
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const auto set = static_cast<unsigned>(i.immediate);
  const bool less = (set & kLess) != 0, equal = (set & kEqual) != 0,
             greater = (set & kGreater) != 0, unordered = (set & kUnordered) != 0;
  return lanes_where(m, [&](unsigned lane) {
    const auto x = load(a[lane]), y = load(b[lane]);
    const bool is_less = x<y, is_equal = x == y, is_greater = x> y;
    return static_cast<bool>((is_less & less) | (is_equal & equal) | (is_greater & greater) |
                             (!(is_less | is_equal | is_greater) & unordered));
  });
}

Mask joined(Warp& warp, const Instruction& i, Mask found) {
  const Mask with = warp.predicate(i.r) ^ i.invert_read;
  switch (i.option) {
    case 1:
      return found & with;
    case 2:
      return found | with;
    case 3:
      return found ^ with;
    default:
      return found;
  }
}

void put_predicate(Mask& out, Mask m, Mask value) { out = (out & ~m) | (value & m); }

// set writes all ones, or 1.0 where the flag is set.
template <class Load, bool kToPredicate>
void run_compare(Warp& warp, const Instruction& i, Mask m) {
  const Mask found =
      compare(warp, i, m, [&](std::uint64_t bits) { return Load::load(bits, i.flags); });
  const Mask all = joined(warp, i, found);
  if constexpr (kToPredicate) {
    const Mask others = joined(warp, i, m & ~found);
    put_predicate(warp.predicate(i.p), m, all);
    if (i.q) put_predicate(warp.predicate(i.q), m, others);
  } else {
    std::uint64_t* const out = warp.reg(i.v[0]);
    const std::uint64_t yes = i.type == Type::kF32 ? 0x3f800000U : 0xffffffffU;
    each_result(out, m, [&](unsigned lane) { return is_set(all, lane) ? yes : 0; });
  }
}

template <class T>
struct AsInteger {
  static T load(std::uint64_t bits, std::uint8_t) { return get<T>(bits); }
};
template <class F>
struct AsFloat {
  static typename F::Value load(std::uint64_t bits, std::uint8_t flags) {
    const typename F::Value value = F::load(bits);
    return flags & kFlush ? flushed(value, F::kLeastNormal) : value;
  }
};

template <bool kToPredicate>
Run comparison(Type type) {
  switch (type) {
    case Type::kF32:
      return best<run_compare<AsFloat<F32>, kToPredicate>>();
    case Type::kF64:
      return best<run_compare<AsFloat<F64>, kToPredicate>>();
    case Type::kF16:
      return run_compare<AsFloat<Small<kHalf, 1>>, kToPredicate>;
    case Type::kBF16:
      return run_compare<AsFloat<Small<kBrain, 1>>, kToPredicate>;
    default:
      return with_integer(type, [](auto t) -> Run {
        return best<run_compare<AsInteger<decltype(t)>, kToPredicate>>();
      });
  }
}

// Compares the low halves and the high halves. set writes for each the bits in `target` where the
// comparison holds; setp writes two predicates.
template <class F, bool kToPredicate>
void compare_halves(Warp& warp, const Instruction& i, Mask m) {
  const auto half = [&](unsigned shift) {
    return compare(warp, i, m,
                   [&](std::uint64_t bits) { return AsFloat<F>::load(bits >> shift, i.flags); });
  };
  const Mask low = joined(warp, i, half(0)), high = joined(warp, i, half(16));
  if constexpr (kToPredicate) {
    put_predicate(warp.predicate(i.p), m, low);
    put_predicate(warp.predicate(i.q), m, high);
  } else {
    std::uint64_t* const out = warp.reg(i.v[0]);
    each_lane(m, [&](unsigned lane) {
      const std::uint64_t upper = is_set(high, lane) ? i.target : 0;
      out[lane] = upper << 16 | (is_set(low, lane) ? i.target : 0);
    });
  }
}

template <bool kToPredicate>
Run halves_comparison(Type type) {
  switch (type) {
    case Type::kF16x2:
      return compare_halves<Small<kHalf, 1>, kToPredicate>;
    case Type::kBF16x2:
      return compare_halves<Small<kBrain, 1>, kToPredicate>;
    default:
      return nullptr;
  }
}

void take_comparison(Site& site) {
  for (const Named& each : kComparisons) {
    if (!site.modifiers.take(each.name)) continue;
    site.out.immediate = each.set;
    return;
  }
  site.refuse("its comparison is not known");
}

// Decodes the sources, from operand 1 on.
void decode_sources(Site& site, Type type) {
  constexpr std::string_view kJoins[] = {"", "and", "or", "xor"};
  site.out.option = static_cast<std::uint8_t>(site.modifiers.take_one(kJoins, 0));
  site.out.flags = site.modifiers.take("ftz") ? kFlush : 0;
  if (!site.expect(site.out.option ? 4 : 3)) return;
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
  if (site.out.option) site.out.r = site.predicate(site.operand(3), site.out.invert_read);
}

void decode_setp(Site& site) {
  take_comparison(site);
  const Type type = site.modifiers.take_type();
  const Run halves = halves_comparison<true>(type);
  site.out.run = halves ? halves : comparison<true>(type);
  if (!site.out.run) site.refuse("it is not known for its type");
  decode_sources(site, type);
  if (site.operands() == 0) return;
  const Operand& to = site.operand(0);
  const bool pair = to.kind == Operand::Kind::kPair;
  if (halves && !pair) return site.refuse("it writes two predicates");
  site.out.p = site.predicate_target(pair ? to.parts[0] : to);
  if (pair) site.out.q = site.predicate_target(to.parts[1]);
}

void decode_set(Site& site) {
  take_comparison(site);
  site.out.type = site.modifiers.take_type();
  const Type type = site.modifiers.take_type();
  const Run halves = halves_comparison<false>(type);
  const bool same = site.out.type == type;
  bool known =
      site.out.type == Type::kU32 || site.out.type == Type::kS32 || site.out.type == Type::kF32;
  if (halves) {
    known = same || site.out.type == Type::kU32 || site.out.type == Type::kS32;
    site.out.target = !same ? 0xffff : type == Type::kF16x2 ? 0x3c00 : 0x3f80;
  }
  site.out.run = halves ? halves : comparison<false>(type);
  if (!site.out.run || !known) site.refuse("it is not known for its type");
  decode_sources(site, type);
  if (site.operands() != 0) site.out.v[0] = site.target(0);
}

void run_slct(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_lane(m, [&](unsigned lane) {
    const bool first = i.type == Type::kF32 ? AsFloat<F32>::load(c[lane], i.flags) >= 0
                                            : get<std::int32_t>(c[lane]) >= 0;
    out[lane] = first ? a[lane] : b[lane];
  });
}

void decode_slct(Site& site) {
  site.out.flags = site.modifiers.take("ftz") ? kFlush : 0;
  const Type type = site.modifiers.take_type();
  site.out.type = site.modifiers.take_type();
  site.out.run = run_slct;
  if (site.out.type != Type::kF32 && site.out.type != Type::kS32) {
    site.refuse("it is not known for its type");
  }
  if (!site.expect(4)) return;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
  site.out.c = site.source(3, site.out.type);
}

constexpr std::string_view kProperties[] = {"finite",     "infinite", "number",
                                            "notanumber", "normal",   "subnormal"};

// An H100 takes a zero of 64 bits for a normal number.
void run_testp(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  Mask out = 0;
  each_lane(m, [&](unsigned lane) {
    const int kind = i.type == Type::kF64 ? std::fpclassify(F64::load(a[lane]))
                                          : std::fpclassify(F32::load(a[lane]));
    const bool results[] = {kind != FP_INFINITE && kind != FP_NAN,
                            kind == FP_INFINITE,
                            kind != FP_NAN,
                            kind == FP_NAN,
                            kind == FP_NORMAL || (kind == FP_ZERO && i.type == Type::kF64),
                            kind == FP_SUBNORMAL};
    out |= static_cast<Mask>(results[i.option]) << lane;
  });
  put_predicate(warp.predicate(i.p), m, out);
}

void decode_testp(Site& site) {
  const std::size_t property = site.modifiers.take_one(kProperties, std::size(kProperties));
  if (property == std::size(kProperties)) return site.refuse("what it tests is not known");
  site.out.option = static_cast<std::uint8_t>(property);
  site.out.type = site.modifiers.take_type();
  site.out.run = run_testp;
  if (site.out.type != Type::kF32 && site.out.type != Type::kF64) {
    return site.refuse("it is not known for its type");
  }
  if (!site.expect(2)) return;
  site.out.p = site.predicate_target(site.operand(0));
  site.out.a = site.source(1, site.out.type);
}

constexpr Opcode kOpcodes[] = {
    {"setp", decode_setp}, {"set", decode_set}, {"slct", decode_slct}, {"testp", decode_testp}};

}  // namespace

std::span<const Opcode> compare_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
