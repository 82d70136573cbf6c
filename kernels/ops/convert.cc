// SPDX-License-Identifier: Apache-2.0
// cvt.
#include <algorithm>
#include <limits>

#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

// Instruction::count of a conversion: how the value is rounded to an integer.
enum Integral : std::uint8_t { kNot, kNearestInteger, kZeroInteger, kDownInteger, kUpInteger };

template <class From, class To>
void integers(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_result(out, m, [&](unsigned lane) { return put<To>(static_cast<To>(get<From>(a[lane]))); });
}

double load(std::uint64_t bits, Type type) {
  switch (type) {
    case Type::kF32:
      return F32::load(bits);
    case Type::kF64:
      return F64::load(bits);
    case Type::kF16:
      return Small<kHalf, 1>::load(bits);
    default:
      return Small<kBrain, 1>::load(bits);
  }
}

double integral(double value, std::uint8_t how) {
  switch (how) {
    case kNearestInteger:
      return std::nearbyint(value);
    case kZeroInteger:
      return std::trunc(value);
    case kDownInteger:
      return std::floor(value);
    case kUpInteger:
      return std::ceil(value);
    default:
      return value;
  }
}

std::uint64_t store(double value, Type type, Rounding rounding) {
  switch (type) {
    case Type::kF64:
      return F64::store(value);
    case Type::kF32: {
      const RoundedBy by(rounding);
      volatile double exact = value;
      volatile float rounded = static_cast<float>(exact);
      return F32::store(rounded);
    }
    case Type::kF16:
      return narrow(value, kHalf[0], kHalf[1], rounding);
    default:
      return narrow(value, kBrain[0], kBrain[1], rounding);
  }
}

double qualified(double value, Type type, std::uint8_t flags) {
  if ((flags & kFlush) && type == Type::kF32) value = flushed(value, 0x1p-126);
  if (flags & kSaturate) value = saturated(value);
  if (flags & kRelu) value = rectified(value);
  return value;
}

// Converts between types of floating point.
void floats(Warp& warp, const Instruction& i, Mask m) {
  const auto from = static_cast<Type>(i.option);
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    double value = load(a[lane], from);
    if ((i.flags & kFlush) && from == Type::kF32) value = flushed(value, 0x1p-126);
    value = qualified(integral(value, i.count), i.type, i.flags);
    out[lane] = store(value, i.type, rounding_of(i.flags));
  });
}

// Converts two numbers into one register: the first into its upper half.
void pairs(Warp& warp, const Instruction& i, Mask m) {
  const auto from = static_cast<Type>(i.option);
  const Type each = i.type == Type::kF16x2 ? Type::kF16 : Type::kBF16;
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_lane(m, [&](unsigned lane) {
    const auto part = [&](std::uint64_t bits) {
      return store(qualified(load(bits, from), each, i.flags), each, rounding_of(i.flags));
    };
    out[lane] = part(a[lane]) << 16 | part(b[lane]);
  });
}

// NaN becomes 0; where the conversion has a side of 64 bits, it becomes the lowest integer, or the
// unsigned one with the same bits.
template <class To>
To clamped(double value, bool wide) {
  if (value != value) {
    const auto highest = std::uint64_t{1} << (sizeof(To) * 8 - 1);
    return wide || sizeof(To) == 8 ? static_cast<To>(highest) : To{0};
  }
  // 2^63, for example: the first value that does not fit.
  const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
  if (value >= end) return std::numeric_limits<To>::max();
  if (value <= static_cast<double>(std::numeric_limits<To>::min())) {
    return std::numeric_limits<To>::min();
  }
  return static_cast<To>(value);
}

template <class To>
void to_integer(Warp& warp, const Instruction& i, Mask m) {
  const auto from = static_cast<Type>(i.option);
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    double value = load(a[lane], from);
    if ((i.flags & kFlush) && from == Type::kF32) value = flushed(value, 0x1p-126);
    out[lane] = put<To>(clamped<To>(integral(value, i.count), from == Type::kF64));
  });
}

// The volatile variables keep the compiler from moving the conversion out of the lines where the
// host's rounding is set.
template <class To, class From>
To rounded_integer(From value, Rounding rounding) {
  // Some hosts convert an unsigned 0 by a subtraction, which gives -0 where they round down.
  if (value == 0) return 0;
  const RoundedBy by(rounding);
  volatile From exact = value;
  volatile To rounded = static_cast<To>(exact);
  return rounded;
}

// An integer as a double, with sticky_sum() where a double cannot hold it.
template <class From>
double as_double(From value) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const bool negative = value < 0;
  const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  const std::uint64_t magnitude = sizeof(From) < 8 && !negative ? static_cast<std::uint64_t>(value)
                                                                : (negative ? ~bits + 1 : bits);
  const double sum = sticky_sum(static_cast<double>(magnitude >> 32) * 0x1p32,
                                static_cast<double>(magnitude & kLow));
  return negative ? -sum : sum;
}

template <class From>
void from_integer(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const Rounding rounding = rounding_of(i.flags);
  const bool clamps = i.flags & kSaturate;
  each_lane(m, [&](unsigned lane) {
    const From value = get<From>(a[lane]);
    if (i.type == Type::kF32) {
      const auto single = rounded_integer<float>(value, rounding);
      out[lane] = F32::store(clamps ? saturated(single) : single);
    } else if (i.type == Type::kF64) {
      const auto wide = rounded_integer<double>(value, rounding);
      out[lane] = F64::store(clamps ? saturated(wide) : wide);
    } else {
      const double exact = as_double(value);
      out[lane] = store(clamps ? saturated(exact) : exact, i.type, rounding);
    }
  });
}

template <class From, class To>
void clamp_integers(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    // NOLINTBEGIN(bugprone-signed-char-misuse): a signed char is a number of 8 bits here
    const __int128 value = get<From>(a[lane]);
    const __int128 least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
    // NOLINTEND(bugprone-signed-char-misuse)
    out[lane] = put<To>(static_cast<To>(value < least ? least : value > most ? most : value));
  });
}

Run integer_conversion(Type to, Type from, bool clamps) {
  return with_integer(from, [&](auto f) -> Run {
    return with_integer(to, [&](auto t) -> Run {
      return clamps ? Run{clamp_integers<decltype(f), decltype(t)>}
                    : best<integers<decltype(f), decltype(t)>>();
    });
  });
}

bool single(Type type) { return is_float(type) && type != Type::kF16x2 && type != Type::kBF16x2; }

// Whether the modifiers belong to the types: a modifier that would be ignored could hide a result
// that is wrong.
bool modifiers_fit(const Site& site, Type to, Type from, bool rounds) {
  const std::uint8_t flags = site.out.flags;
  const bool to_float = is_float(to), from_float = is_float(from);
  const bool integral = site.out.count != kNot;
  if (flags & (kKeepNan | kXorSign | kApprox)) return false;
  if ((flags & kFlush) && to != Type::kF32 && from != Type::kF32) return false;
  if ((flags & kRelu) && !(from == Type::kF32 && bytes_of(to) <= 4 && to_float && to != from)) {
    return false;
  }
  if (integral) return from_float && !rounds && (!to_float || to == from);
  return to_float || !rounds;
}

void decode_cvt(Site& site) {
  constexpr std::string_view kIntegral[] = {"", "rni", "rzi", "rmi", "rpi"};
  if (decode_cvt_packed(site)) return;
  Instruction& out = site.out;
  out.count = static_cast<std::uint8_t>(site.modifiers.take_one(kIntegral, kNot));
  const bool rounds = site.modifiers.has("rn") || site.modifiers.has("rz") ||
                      site.modifiers.has("rm") || site.modifiers.has("rp");
  out.flags = take_float_flags(site.modifiers);
  const Type to = site.modifiers.take_type(), from = site.modifiers.take_type();
  out.type = to;
  out.option = static_cast<std::uint8_t>(from);
  const bool pair = (to == Type::kF16x2 || to == Type::kBF16x2) && from == Type::kF32;
  if (pair) {
    out.run = pairs;
  } else if (single(to) && single(from)) {
    out.run = floats;
  } else if (single(from)) {
    out.run = with_integer(to, [](auto t) -> Run { return to_integer<decltype(t)>; });
  } else if (single(to)) {
    out.run = with_integer(from, [](auto f) -> Run { return from_integer<decltype(f)>; });
  } else if (!is_float(to) && !is_float(from)) {
    out.run = integer_conversion(to, from, out.flags & kSaturate);
  }
  if (!out.run) return site.refuse("it is not known for its types");
  if (!modifiers_fit(site, to, from, rounds)) {
    return site.refuse("its modifiers are not those of a conversion between its types");
  }
  if (!site.expect(pair ? 3 : 2)) return;
  out.v[0] = site.target(0);
  out.a = site.source(1, from);
  if (pair) out.b = site.source(2, from);
}

constexpr Opcode kOpcodes[] = {{"cvt", decode_cvt}};

}  // namespace

std::span<const Opcode> convert_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
