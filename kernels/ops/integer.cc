// SPDX-License-Identifier: Apache-2.0
// Arithmetic with integers; decodes the same opcodes of floating point by decode_float().
#include <limits>

#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

// Overflow wraps, for all types.
struct Add {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};
struct Sub {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
};
struct MulLow {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
struct MulHigh {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>((Wide<T>{a} * Wide<T>{b}) >> (sizeof(T) * 8));
  }
};
template <class Mul>
struct Mad {
  template <class T>
  static T run(T a, T b, T c) {
    return Add::run(Mul::run(a, b), c);
  }
};
// PTX does not define the result of a division by zero; GPUs answer all ones.
struct Div {
  template <class T>
  static T run(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub::run(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T run(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  static T run(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T run(T a, T b) {
    return a > b ? a : b;
  }
};
struct Neg {
  template <class T>
  static T run(T a) {
    return Sub::run(T{0}, a);
  }
};
struct Abs {
  template <class T>
  static T run(T a) {
    return a < 0 ? Sub::run(T{0}, a) : a;
  }
};
struct AddSaturated {
  static std::int32_t run(std::int32_t a, std::int32_t b) { return clamp(std::int64_t{a} + b); }
  static std::int32_t clamp(std::int64_t v) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(v < kLeast ? kLeast : v > kMost ? kMost : v);
  }
};
struct SubSaturated {
  static std::int32_t run(std::int32_t a, std::int32_t b) {
    return AddSaturated::clamp(std::int64_t{a} - b);
  }
};
struct MadHighSaturated {
  static std::int32_t run(std::int32_t a, std::int32_t b, std::int32_t c) {
    return AddSaturated::run(MulHigh::run(a, b), c);
  }
};
struct Sad {
  template <class T>
  static T run(T a, T b, T c) {
    return Add::run(c, a < b ? Sub::run(b, a) : Sub::run(a, b));
  }
};
// The low 24 bits, sign-extended where the type has a sign.
template <class T>
T low24(T v) {
  return static_cast<T>(static_cast<T>(static_cast<Unsigned<T>>(v) << 8) >> 8);
}
struct Mul24Low {
  template <class T>
  static T run(T a, T b) {
    return MulLow::run(low24(a), low24(b));
  }
};
struct Mul24High {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>((Wide<T>{low24(a)} * Wide<T>{low24(b)}) >> 16);
  }
};

struct Mad24HighSaturated {
  static std::int32_t run(std::int32_t a, std::int32_t b, std::int32_t c) {
    return AddSaturated::run(Mul24High::run(a, b), c);
  }
};

// Multiplies numbers of 16 or 32 bits to a product of twice as many; with kAdd, adds a number of
// that width.
template <class T, bool kAdd>
void multiply_wide(Warp& warp, const Instruction& i, Mask m) {
  using Out =
      std::conditional_t<sizeof(T) == 2,
                         std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_result(out, m, [&](unsigned lane) {
    const Out product = MulLow::run(Out{get<T>(a[lane])}, Out{get<T>(b[lane])});
    return put<Out>(kAdd ? Add::run(product, get<Out>(c[lane])) : product);
  });
}

// Adds the products of bytes or halves.
template <class A, class B, unsigned kParts>
void dot(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_lane(m, [&](unsigned lane) {
    std::uint64_t sum = c[lane];
    for (unsigned part = 0; part < kParts; ++part) {
      const unsigned at_a = part * (32 / kParts);
      const unsigned at_b = kParts == 4 ? at_a : part * 8 + i.option;
      // NOLINTBEGIN(bugprone-signed-char-misuse): a signed char is a number of 8 bits here
      const auto x = static_cast<std::int64_t>(static_cast<A>(a[lane] >> at_a));
      const auto y = static_cast<std::int64_t>(static_cast<B>(b[lane] >> at_b));
      // NOLINTEND(bugprone-signed-char-misuse)
      sum += static_cast<std::uint64_t>(x * y);
    }
    out[lane] = static_cast<std::uint32_t>(sum);
  });
}

void operands(Site& site, Type type, std::size_t sources) {
  if (!site.expect(sources + 1)) return;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  if (sources > 1) site.out.b = site.source(2, type);
  if (sources > 2) site.out.c = site.source(3, type);
}

template <class Op>
void decode_binary(Site& site, Type type) {
  site.out.run = with_integer(type, [](auto t) -> Run { return best<binary<decltype(t), Op>>(); });
  operands(site, type, 2);
}

template <class Op>
void decode_ternary(Site& site, Type type) {
  site.out.run = with_integer(type, [](auto t) -> Run { return best<ternary<decltype(t), Op>>(); });
  operands(site, type, 3);
}

// The type of an integer instruction. Decodes an instruction of floating point, and then returns
// kNone, as after a refusal.
Type integer_type(Site& site) {
  const Type type = site.modifiers.take_type();
  if (is_float(type)) {
    if (!decode_float(site, type)) site.refuse("it is not known for its type");
    return Type::kNone;
  }
  if (decode_halves(site, type)) return Type::kNone;
  const bool has_type = type >= Type::kB8 && type <= Type::kS64 && type != Type::kB128;
  if (!has_type) {
    site.refuse("it is not known for its type");
    return Type::kNone;
  }
  return type;
}

template <class Op>
void binary_op(Site& site) {
  const Type type = integer_type(site);
  if (type != Type::kNone) decode_binary<Op>(site, type);
}

template <class Op>
void unary_op(Site& site) {
  const Type type = integer_type(site);
  if (type == Type::kNone) return;
  site.out.run = with_integer(type, [](auto t) -> Run { return best<unary<decltype(t), Op>>(); });
  operands(site, type, 1);
}

void decode_carry_or(Site& site, Decode plain, const char* carry) {
  if (!site.modifiers.take("cc")) return plain(site);
  opcode_named(carry)(site);
}

void decode_add(Site& site) {
  const bool saturated = site.modifiers.take("sat");
  if (!saturated) return decode_carry_or(site, binary_op<Add>, "add.cc");
  const Type type = site.modifiers.take_type();
  if (is_float(type)) {
    site.out.option = 1;
    if (!decode_float(site, type)) site.refuse("it is not known for its type");
    return;
  }
  if (type != Type::kS32) return site.refuse("`.sat` is not known for its type");
  site.out.run = binary<std::int32_t, AddSaturated>;
  operands(site, type, 2);
}

void decode_sub(Site& site) {
  const bool saturated = site.modifiers.take("sat");
  if (!saturated) return decode_carry_or(site, binary_op<Sub>, "sub.cc");
  const Type type = site.modifiers.take_type();
  if (is_float(type)) {
    site.out.option = 1;
    if (!decode_float(site, type)) site.refuse("it is not known for its type");
    return;
  }
  if (type != Type::kS32) return site.refuse("`.sat` is not known for its type");
  site.out.run = binary<std::int32_t, SubSaturated>;
  operands(site, type, 2);
}

template <bool kAdd>
void decode_wide(Site& site, Type type) {
  switch (type) {
    case Type::kU16:
      site.out.run = best<multiply_wide<std::uint16_t, kAdd>>();
      break;
    case Type::kS16:
      site.out.run = best<multiply_wide<std::int16_t, kAdd>>();
      break;
    case Type::kU32:
      site.out.run = best<multiply_wide<std::uint32_t, kAdd>>();
      break;
    case Type::kS32:
      site.out.run = best<multiply_wide<std::int32_t, kAdd>>();
      break;
    default:
      return site.refuse("it is not known for its type");
  }
  operands(site, type, kAdd ? 3 : 2);
}

constexpr std::string_view kParts[] = {"lo", "hi", "wide"};

void decode_mul(Site& site) {
  const std::size_t part = site.modifiers.take_one(kParts, 0);
  const Type type = integer_type(site);
  if (type == Type::kNone) return;
  if (part == 2) return decode_wide<false>(site, type);
  part == 1 ? decode_binary<MulHigh>(site, type) : decode_binary<MulLow>(site, type);
}

void decode_mad(Site& site) {
  if (site.modifiers.take("cc")) return opcode_named("mad.cc")(site);
  const bool saturated = site.modifiers.take("sat");
  const std::size_t part = site.modifiers.take_one(kParts, 0);
  site.out.option = saturated ? 1 : 0;
  const Type type = integer_type(site);
  if (type == Type::kNone) return;
  if (saturated) {
    if (type != Type::kS32 || part != 1) return site.refuse("`.sat` is not known for its type");
    site.out.run = ternary<std::int32_t, MadHighSaturated>;
    return operands(site, type, 3);
  }
  if (part == 2) return decode_wide<true>(site, type);
  part == 1 ? decode_ternary<Mad<MulHigh>>(site, type) : decode_ternary<Mad<MulLow>>(site, type);
}

template <class T, bool kAdd>
Run multiply24(bool high) {
  if constexpr (kAdd) {
    return high ? best<ternary<T, Mad<Mul24High>>>() : best<ternary<T, Mad<Mul24Low>>>();
  } else {
    return high ? best<binary<T, Mul24High>>() : best<binary<T, Mul24Low>>();
  }
}

template <bool kAdd>
void decode_mul24(Site& site) {
  const bool saturated = kAdd && site.modifiers.take("sat");
  const bool high = site.modifiers.take("hi");
  if (!high && !site.modifiers.take("lo")) return site.refuse("it has neither `.hi` nor `.lo`");
  const Type type = site.modifiers.take_type();
  if (type != Type::kS32 && type != Type::kU32) return site.refuse("it is not known for its type");
  site.out.run = type == Type::kS32 ? multiply24<std::int32_t, kAdd>(high)
                                    : multiply24<std::uint32_t, kAdd>(high);
  if (saturated) {
    if (!high || type != Type::kS32) return site.refuse("`.sat` is not known for its type");
    site.out.run = ternary<std::int32_t, Mad24HighSaturated>;
  }
  operands(site, type, kAdd ? 3 : 2);
}

void decode_sad(Site& site) {
  const Type type = integer_type(site);
  if (type != Type::kNone) decode_ternary<Sad>(site, type);
}

template <unsigned kParts>
void decode_dot(Site& site) {
  if (kParts == 2) {
    site.out.option = site.modifiers.take("hi") ? 16 : 0;
    site.modifiers.take("lo");
  }
  using UA = std::conditional_t<kParts == 4, std::uint8_t, std::uint16_t>;
  using SA = std::conditional_t<kParts == 4, std::int8_t, std::int16_t>;
  const Type type_a = site.modifiers.take_type(), type_b = site.modifiers.take_type();
  const bool a = type_a == Type::kS32, b = type_b == Type::kS32;
  if ((!a && type_a != Type::kU32) || (!b && type_b != Type::kU32)) {
    return site.refuse("it is not known for its types");
  }
  site.out.run = a ? (b ? dot<SA, std::int8_t, kParts> : dot<SA, std::uint8_t, kParts>)
                   : (b ? dot<UA, std::int8_t, kParts> : dot<UA, std::uint8_t, kParts>);
  operands(site, Type::kB32, 3);
}

constexpr Opcode kOpcodes[] = {
    {"add", decode_add},           {"sub", decode_sub},     {"mul", decode_mul},
    {"mad", decode_mad},           {"div", binary_op<Div>}, {"rem", binary_op<Rem>},
    {"min", binary_op<Min>},       {"max", binary_op<Max>}, {"neg", unary_op<Neg>},
    {"abs", unary_op<Abs>},        {"sad", decode_sad},     {"mul24", decode_mul24<false>},
    {"mad24", decode_mul24<true>}, {"dp4a", decode_dot<4>}, {"dp2a", decode_dot<2>},
};

}  // namespace

std::span<const Opcode> integer_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
