// SPDX-License-Identifier: Apache-2.0
// Arithmetic with floating point.
#include <algorithm>
#include <cmath>

#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

struct Add {
  static constexpr unsigned kSources = 2;
  template <class T>
  static T run(T a, T b, T, std::uint8_t) {
    return a + b;
  }
};
struct Sub {
  static constexpr unsigned kSources = 2;
  template <class T>
  static T run(T a, T b, T, std::uint8_t) {
    return a - b;
  }
};
struct Mul {
  static constexpr unsigned kSources = 2;
  template <class T>
  static T run(T a, T b, T, std::uint8_t) {
    return a * b;
  }
};
struct Div {
  static constexpr unsigned kSources = 2;
  template <class T>
  static T run(T a, T b, T, std::uint8_t) {
    return a / b;
  }
};
struct Fma {
  static constexpr unsigned kSources = 3;
  template <class T>
  static T run(T a, T b, T c, std::uint8_t) {
    return std::fma(a, b, c);
  }
};
// A number wins over NaN; -0 is less than 0.
template <bool kLess>
struct Extreme {
  static constexpr unsigned kSources = 2;
  template <class T>
  static T run(T a, T b, T, std::uint8_t flags) {
    if (std::isnan(a) || std::isnan(b)) {
      if (flags & kKeepNan) return std::numeric_limits<T>::quiet_NaN();
      return std::isnan(a) ? b : a;
    }
    if (a == b) return std::signbit(a) == kLess ? a : b;
    return (a < b) == kLess ? a : b;
  }
};
struct Neg {
  static constexpr unsigned kSources = 1;
  template <class T>
  static T run(T a, T, T, std::uint8_t) {
    return -a;
  }
};
struct Abs {
  static constexpr unsigned kSources = 1;
  template <class T>
  static T run(T a, T, T, std::uint8_t) {
    return std::fabs(a);
  }
};
struct Reciprocal {
  static constexpr unsigned kSources = 1;
  template <class T>
  static T run(T a, T, T, std::uint8_t) {
    return T{1} / a;
  }
};
struct Root {
  static constexpr unsigned kSources = 1;
  template <class T>
  static T run(T a, T, T, std::uint8_t) {
    return std::sqrt(a);
  }
};
struct ReciprocalRoot {
  static constexpr unsigned kSources = 1;
  template <class T>
  static T run(T a, T, T, std::uint8_t) {
    return T{1} / std::sqrt(a);
  }
};
template <double (*kFunction)(double)>
struct Function {
  static constexpr unsigned kSources = 1;
  template <class T>
  static T run(T a, T, T, std::uint8_t) {
    return static_cast<T>(kFunction(static_cast<double>(a)));
  }
};
struct CopySign {  // gives b the sign of a
  static constexpr unsigned kSources = 2;
  template <class T>
  static T run(T a, T b, T, std::uint8_t) {
    return std::copysign(b, a);
  }
};

template <class F, class Op>
std::uint64_t plain(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint8_t flags) {
  return F::store(Op::run(F::load(a), F::load(b), F::load(c), flags));
}

// Runs an operation with all of its modifiers. The volatile variables keep the compiler from moving
// the computation out of the lines where the host's rounding is set.
template <class F, class Op>
std::uint64_t qualified(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint8_t flags) {
  using T = typename F::Value;
  volatile T x = F::load(a), y = F::load(b), z = F::load(c);
  if (flags & kFlush) {
    x = flushed<T>(x, F::kLeastNormal);
    y = flushed<T>(y, F::kLeastNormal);
    z = flushed<T>(z, F::kLeastNormal);
  }
  volatile T rounded = 0;
  {
    const RoundedBy by(rounding_of(flags));
    rounded = Op::template run<T>(x, y, z, flags);
  }
  T out = rounded;
  if (flags & kFlush) out = flushed<T>(out, F::kLeastNormal);
  if (flags & kSaturate) out = std::isnan(out) ? T{0} : std::clamp(out, T{0}, T{1});
  if ((flags & kRelu) && out < 0) out = 0;
  return F::store(out);
}

template <class F, class Op, bool kQualified>
void run_float(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  const auto one = [&](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    return kQualified ? qualified<F, Op>(x, y, z, i.flags) : plain<F, Op>(x, y, z, i.flags);
  };
  each_lane(m, [&](unsigned lane) {
    if constexpr (F::kParts == 1) {
      out[lane] = one(a[lane], b[lane], c[lane]);
    } else {
      const std::uint64_t high = one(a[lane] >> 16, b[lane] >> 16, c[lane] >> 16);
      out[lane] = one(a[lane], b[lane], c[lane]) | high << 16;
    }
  });
}

template <class F, class Op>
Run choose(std::uint8_t flags) {
  return (flags & ~kKeepNan) ? Run{run_float<F, Op, true>} : Run{run_float<F, Op, false>};
}

template <class Op>
bool decode_op(Site& site, Type type) {
  std::uint8_t flags = take_float_flags(site.modifiers);
  if (site.out.option == 1) flags |= kSaturate;  // flag taken before the type was known
  Instruction& out = site.out;
  out.flags = flags;
  switch (type) {
    case Type::kF32:
      out.run = choose<F32, Op>(flags);
      break;
    case Type::kF64:
      out.run = choose<F64, Op>(flags);
      break;
    case Type::kF16:
      out.run = choose<Small<kHalf, 1>, Op>(flags);
      break;
    case Type::kF16x2:
      out.run = choose<Small<kHalf, 2>, Op>(flags);
      break;
    case Type::kBF16:
      out.run = choose<Small<kBrain, 1>, Op>(flags);
      break;
    case Type::kBF16x2:
      out.run = choose<Small<kBrain, 2>, Op>(flags);
      break;
    default:
      return false;
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

constexpr Opcode kOpcodes[] = {
    {"fma", decode_alone<Fma>},
    {"rcp", decode_alone<Reciprocal>},
    {"sqrt", decode_alone<Root>},
    {"rsqrt", decode_alone<ReciprocalRoot>},
    {"ex2", decode_alone<Function<std::exp2>>},
    {"lg2", decode_alone<Function<std::log2>>},
    {"sin", decode_alone<Function<std::sin>>},
    {"cos", decode_alone<Function<std::cos>>},
    {"tanh", decode_alone<Function<std::tanh>>},
    {"copysign", decode_alone<CopySign>},
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
