// SPDX-License-Identifier: Apache-2.0
// Arithmetic with floating point.
#include <algorithm>
#include <cmath>

#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

// The types that an operation has, and the modifiers that it has with each of them.
struct Allowed {
  std::uint8_t f32, f64, half, brain;  ///< of FloatFlag
};
constexpr std::uint8_t kNoType = 0xff;
constexpr Allowed kArithmetic{kRoundingBits | kFlush | kSaturate, kRoundingBits, kFlush | kSaturate,
                              0};

struct Add {
  static constexpr unsigned kSources = 2;
  static constexpr Allowed kAllowed = kArithmetic;
  template <class F, class T>
  static T run(T a, T b, T, std::uint8_t) {
    if constexpr (F::kSmall) return sticky_sum(a, b);
    return a + b;
  }
};
struct Sub {
  static constexpr unsigned kSources = 2;
  static constexpr Allowed kAllowed = kArithmetic;
  template <class F, class T>
  static T run(T a, T b, T, std::uint8_t) {
    if constexpr (F::kSmall) return sticky_sum(a, -b);
    return a - b;
  }
};
struct Mul {
  static constexpr unsigned kSources = 2;
  static constexpr Allowed kAllowed = kArithmetic;
  template <class F, class T>
  static T run(T a, T b, T, std::uint8_t) {
    return a * b;
  }
};
struct Div {
  static constexpr unsigned kSources = 2;
  static constexpr Allowed kAllowed{kRoundingBits | kFlush | kApprox, kRoundingBits, kNoType,
                                    kNoType};
  template <class F, class T>
  static T run(T a, T b, T, std::uint8_t flags) {
    // The quick division multiplies by a reciprocal, which is 0 for the largest divisors.
    const bool vanishes = (flags & kApprox) && std::fabs(b) > T{0x1p126f} && !std::isinf(b);
    return vanishes ? a * std::copysign(T{0}, b) : a / b;
  }
};
struct Fma {
  static constexpr unsigned kSources = 3;
  static constexpr Allowed kAllowed{kRoundingBits | kFlush | kSaturate, kRoundingBits,
                                    kFlush | kSaturate | kRelu, kRelu};
  template <class F, class T>
  static T run(T a, T b, T c, std::uint8_t) {
    if constexpr (F::kSmall) return sticky_sum(a * b, c);  // the product is exact
    return std::fma(a, b, c);
  }
};
// A number wins over NaN; -0 is less than 0.
template <bool kLess>
struct Extreme {
  static constexpr unsigned kSources = 2;
  static constexpr Allowed kAllowed{kFlush | kKeepNan | kXorSign, 0, kFlush | kKeepNan | kXorSign,
                                    kKeepNan | kXorSign};
  template <class T>
  static T of(T a, T b, std::uint8_t flags) {
    if (std::isnan(a) || std::isnan(b)) {
      if (flags & kKeepNan) return std::numeric_limits<T>::quiet_NaN();
      return std::isnan(a) ? b : a;
    }
    if (a == b) return std::signbit(a) == kLess ? a : b;
    return (a < b) == kLess ? a : b;
  }
  template <class F, class T>
  static T run(T a, T b, T, std::uint8_t flags) {
    if (!(flags & kXorSign)) return of(a, b, flags);
    const T magnitude = of(std::fabs(a), std::fabs(b), flags);
    return std::signbit(a) != std::signbit(b) ? -magnitude : magnitude;
  }
};
struct Neg {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed{kFlush, 0, kFlush, 0};
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t) {
    return -a;
  }
};
struct Abs {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed{kFlush, 0, kFlush, 0};
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t) {
    return std::fabs(a);
  }
};
constexpr Allowed kRootLike{kRoundingBits | kFlush | kApprox, kRoundingBits | kFlush | kApprox,
                            kNoType, kNoType};
// The quick functions of 64 bits see and give only the upper half of a number.
template <class T>
T upper_half(T value, std::uint8_t flags) {
  if constexpr (sizeof(T) == 8) {
    if (flags & kApprox) {
      return std::bit_cast<T>(std::bit_cast<std::uint64_t>(value) & ~std::uint64_t{0xffffffff});
    }
  }
  return value;
}
struct Reciprocal {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed = kRootLike;
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t flags) {
    return upper_half(T{1} / upper_half(a, flags), flags);
  }
};
struct Root {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed{kRoundingBits | kFlush | kApprox, kRoundingBits, kNoType,
                                    kNoType};
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t) {
    return std::sqrt(a);
  }
};
struct ReciprocalRoot {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed{kFlush | kApprox, kFlush | kApprox, kNoType, kNoType};
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t flags) {
    return upper_half(T{1} / std::sqrt(upper_half(a, flags)), flags);
  }
};
template <double (*kFunction)(double)>
struct Function {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed{kFlush | kApprox, kNoType, kNoType, kNoType};
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t) {
    return static_cast<T>(kFunction(static_cast<double>(a)));
  }
};
struct Tanh : Function<std::tanh> {
  static constexpr Allowed kAllowed{kApprox, kNoType, kApprox, kApprox};
};
// A result below the normal numbers is the square of a result of half the exponent, which an H100
// computes without the lowest bit of its mantissa.
struct PowerOfTwo {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed{kFlush | kApprox, kNoType, kApprox, kFlush | kApprox};
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t) {
    if constexpr (!F::kSmall) {
      if (a < -126) {
        const auto root = std::bit_cast<std::uint32_t>(std::exp2(a / 2));
        const auto shortened = std::bit_cast<T>(root & ~1U);
        return shortened * shortened;
      }
    }
    return static_cast<T>(std::exp2(static_cast<double>(a)));
  }
};
// An H100 computes with 23 binary digits after the point, and takes the complement of a negative
// result for its magnitude, which is less by one digit. For numbers above 1/2 this would leave few
// correct digits, which the documentation allows, but nothing shows.
struct Logarithm {
  static constexpr unsigned kSources = 1;
  static constexpr Allowed kAllowed{kFlush | kApprox, kNoType, kNoType, kNoType};
  template <class F, class T>
  static T run(T a, T, T, std::uint8_t) {
    const double exact = std::log2(static_cast<double>(a));
    if (!(a > 0) || a > T{0.5f}) return static_cast<T>(exact);
    const double magnitude = (std::ceil(-exact * 0x1p23) - 1) * 0x1p-23;
    const T nearest = static_cast<T>(magnitude);
    return -(static_cast<double>(nearest) > magnitude ? std::nextafter(nearest, T{0}) : nearest);
  }
};

template <class F, class Op>
std::uint64_t plain(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint8_t flags) {
  using T = typename F::Value;
  return F::store(Op::template run<F, T>(F::load(a), F::load(b), F::load(c), flags));
}

// The operations of few instructions of a CPU, which work on many lanes at a time.
template <class Op>
constexpr bool kSimple =
    std::is_same_v<Op, Add> || std::is_same_v<Op, Sub> || std::is_same_v<Op, Mul> ||
    std::is_same_v<Op, Fma> || std::is_same_v<Op, Neg> || std::is_same_v<Op, Abs> ||
    std::is_same_v<Op, Div> || std::is_same_v<Op, Root> || std::is_same_v<Op, Reciprocal> ||
    std::is_same_v<Op, ReciprocalRoot> || std::is_same_v<Op, Extreme<true>> ||
    std::is_same_v<Op, Extreme<false>>;

// The modifiers after the rounding, and before it.
template <class F, class T>
std::uint64_t finished(T out, std::uint8_t flags) {
  if (F::kSmall && (flags & kFlush)) out = F::load(F::store(out));
  if (flags & kFlush) out = flushed<T>(out, F::kLeastNormal);
  if (flags & kSaturate) out = saturated(out);
  if (flags & kRelu) out = rectified(out);
  return F::store(out);
}
template <class F>
typename F::Value taken(std::uint64_t bits, std::uint8_t flags) {
  const typename F::Value value = F::load(bits);
  return flags & kFlush ? flushed<typename F::Value>(value, F::kLeastNormal) : value;
}

// An operation with modifiers that rounds to the nearest number.
template <class F, class Op>
std::uint64_t qualified(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint8_t flags) {
  using T = typename F::Value;
  return finished<F, T>(
      Op::template run<F, T>(taken<F>(a, flags), taken<F>(b, flags), taken<F>(c, flags), flags),
      flags);
}

// The volatile variables keep the compiler from moving the computation out of the lines where the
// host's rounding is set.
template <class F, class Op>
std::uint64_t rounded(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint8_t flags) {
  using T = typename F::Value;
  volatile T x = taken<F>(a, flags), y = taken<F>(b, flags), z = taken<F>(c, flags);
  volatile T out = 0;
  {
    const RoundedBy by(rounding_of(flags));
    out = Op::template run<F, T>(x, y, z, flags);
  }
  return finished<F, T>(out, flags);
}

template <class F, class Op, auto kOne>
void run_float(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  const std::uint8_t flags = i.flags;
  const auto each = [&](unsigned lane) -> std::uint64_t {
    if constexpr (F::kParts == 1) {
      return kOne(a[lane], b[lane], c[lane], flags);
    } else {
      const std::uint64_t high = kOne(a[lane] >> 16, b[lane] >> 16, c[lane] >> 16, flags);
      return kOne(a[lane], b[lane], c[lane], flags) | high << 16;
    }
  };
  if constexpr (kSimple<Op> && !F::kSmall) {
    each_result(out, m, each);
  } else {
    each_lane(m, [&](unsigned lane) { out[lane] = each(lane); });
  }
}

// The flags of a run-time value become those of the code, so that no lane asks for them again.
template <class F, class Op, std::uint8_t kFlags>
std::uint64_t with_flags(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint8_t) {
  return qualified<F, Op>(a, b, c, kFlags);
}

template <class F, class Op>
Run choose(std::uint8_t flags) {
  if (flags & kRoundingBits) return run_float<F, Op, rounded<F, Op>>;
  const auto qualifiers = static_cast<std::uint8_t>(flags & ~(kKeepNan | kXorSign | kApprox));
  if constexpr (!kSimple<Op> || F::kSmall) {
    return qualifiers != 0 ? run_float<F, Op, qualified<F, Op>> : run_float<F, Op, plain<F, Op>>;
  } else {
    if (flags == kFlush) return best<run_float<F, Op, with_flags<F, Op, kFlush>>>();
    return qualifiers != 0 ? best<run_float<F, Op, qualified<F, Op>>>()
                           : best<run_float<F, Op, plain<F, Op>>>();
  }
}

std::uint8_t allowed(const Allowed& all, Type type) {
  switch (type) {
    case Type::kF32:
      return all.f32;
    case Type::kF64:
      return all.f64;
    case Type::kF16:
    case Type::kF16x2:
      return all.half;
    case Type::kBF16:
    case Type::kBF16x2:
      return all.brain;
    default:
      return kNoType;
  }
}

template <class Op>
Run run_for(Type type, std::uint8_t flags) {
  switch (type) {
    case Type::kF32:
      return choose<F32, Op>(flags);
    case Type::kF64:
      if constexpr (Op::kAllowed.f64 != kNoType) return choose<F64, Op>(flags);
      return nullptr;
    case Type::kF16:
      if constexpr (Op::kAllowed.half != kNoType) return choose<Small<kHalf, 1>, Op>(flags);
      return nullptr;
    case Type::kF16x2:
      if constexpr (Op::kAllowed.half != kNoType) return choose<Small<kHalf, 2>, Op>(flags);
      return nullptr;
    case Type::kBF16:
      if constexpr (Op::kAllowed.brain != kNoType) return choose<Small<kBrain, 1>, Op>(flags);
      return nullptr;
    case Type::kBF16x2:
      if constexpr (Op::kAllowed.brain != kNoType) return choose<Small<kBrain, 2>, Op>(flags);
      return nullptr;
    default:
      return nullptr;
  }
}

template <class Op>
bool decode_op(Site& site, Type type) {
  std::uint8_t flags = take_float_flags(site.modifiers);
  if (site.out.option == 1) flags |= kSaturate;  // flag taken before the type was known
  Instruction& out = site.out;
  out.flags = flags;
  out.run = run_for<Op>(type, flags);
  if (!out.run) return false;
  if (flags & ~allowed(Op::kAllowed, type)) {
    site.refuse("a modifier that it does not have with its type");
  }
  if (!site.expect(Op::kSources + 1)) return true;
  out.v[0] = site.target(0);
  out.a = site.source(1, type);
  if (Op::kSources > 1) out.b = site.source(2, type);
  if (Op::kSources > 2) out.c = site.source(3, type);
  return true;
}

template <class Op>
void decode_alone(Site& site) {
  if (!decode_op<Op>(site, site.modifiers.take_type())) {
    site.refuse("it is not known for its type");
  }
}

// Gives b the sign of a.
template <class Bits>
void copy_sign(Warp& warp, const Instruction& i, Mask m) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_lane(m, [&](unsigned lane) {
    out[lane] = (get<Bits>(a[lane]) & kSign) | (get<Bits>(b[lane]) & ~kSign);
  });
}

void decode_copysign(Site& site) {
  const Type type = site.modifiers.take_type();
  if (type != Type::kF32 && type != Type::kF64) return site.refuse("it is not known for its type");
  if (!site.expect(3)) return;
  site.out.run = type == Type::kF32 ? copy_sign<std::uint32_t> : copy_sign<std::uint64_t>;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
}

constexpr Opcode kOpcodes[] = {
    {"fma", decode_alone<Fma>},
    {"rcp", decode_alone<Reciprocal>},
    {"sqrt", decode_alone<Root>},
    {"rsqrt", decode_alone<ReciprocalRoot>},
    {"ex2", decode_alone<PowerOfTwo>},
    {"lg2", decode_alone<Logarithm>},
    {"sin", decode_alone<Function<std::sin>>},
    {"cos", decode_alone<Function<std::cos>>},
    {"tanh", decode_alone<Tanh>},
    {"copysign", decode_copysign},
};

struct Shared {
  std::string_view name;
  bool (*decode)(Site&, Type);
};
constexpr Shared kShared[] = {
    {"add", decode_op<Add>}, {"sub", decode_op<Sub>},           {"mul", decode_op<Mul>},
    {"mad", decode_op<Fma>}, {"div", decode_op<Div>},           {"neg", decode_op<Neg>},
    {"abs", decode_op<Abs>}, {"min", decode_op<Extreme<true>>}, {"max", decode_op<Extreme<false>>},
};

}  // namespace

bool decode_float(Site& site, Type type) {
  for (const Shared& each : kShared) {
    if (each.name == site.modifiers.base()) return each.decode(site, type);
  }
  return false;
}

std::span<const Opcode> float_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
